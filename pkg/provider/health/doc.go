// Package health serves the probes of the cloud provider over plain HTTP on a loopback address, where a kubelet reaches
// them from the host's network.
//
//	/healthz           the process is alive; independent of vCenters, which a restart does not fix
//	/readyz            every vCenter is connected and its inventory in sync; ?verbose lists them
//	/readyz/<tenant>   one of them
//	/metrics           the given handler
//
// A process that does not lead watches no vCenter, and is ready: "standby".
//
// Responses contain reasons, because only users of the host can read them.
//
// Floor 1: it imports nothing of this module.
package health
