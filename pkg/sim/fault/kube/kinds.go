package kube

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"

// Kinds returns the faults of the cluster.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		controlPlaneRestart(), controlPlanePaused(), etcdSlow(),
		ccmKilled(), ccmPaused(), ccmCrashLoop(), ccmTwice(), ccmUnreachable(), ccmTokenRevoked(),
		csiKilled(), csiPaused(), csiCrashLoop(), csiUnreachable(), csiTokenRevoked(),
		kubeletKilled(), kubeletPaused(), nodeUnreachable(),
		nodeUninitialized(), nodeTainted(), nodeDeleted(), nodeForeign(),
		linkWithheld(), csiUnregistered(), csiNodeDeleted(),
		unknownPolicy(), topologyKindDeleted(),
		ruleRemoved(), bindingRemoved(),
		secretDeleted(), secretMalformed(), configDeleted(), configMalformed(),
	}
}
