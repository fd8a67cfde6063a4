package kube

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"

// ccmProcess is what the kinds exclude each other by that stop or end the cloud controller manager.
const ccmProcess = "ccm-process"

func ccmKilled() *fault.Kind {
	return killed(fault.Kind{
		Name: "ccm.killed", Object: fault.Sandbox, Needs: []fault.Need{fault.Children}, Touches: ccmProcess,
		Short: "kills the cloud controller manager, which is started again after a while",
		Long: "As the kernel does when memory runs out: it has no time to log out of the vCenters or to give its lease back. " +
			"Of several another one takes over when the lease has run out. Nodes must not notice.",
		Params:   []fault.Param{which()},
		Reported: []string{"cloud-provider-vsphere#621"},
	}, pick)
}

func ccmPaused() *fault.Kind {
	return paused(fault.Kind{
		Name: "ccm.paused", Object: fault.Sandbox, Needs: []fault.Need{fault.Children}, Touches: ccmProcess,
		Short: "has the cloud controller manager stand still",
		Long: "It stops where it is, holding its connections. Nodes that come stay uninitialized, nodes whose VMs go are not tainted or deleted. " +
			"Of several another one takes over, and the one that was paused must find that it does not lead any more when it goes on.",
		Params: []fault.Param{which()},
	}, pick)
}

func ccmUnreachable() *fault.Kind {
	return unreachable(fault.Kind{
		Name: "ccm.api-unreachable", Object: fault.Sandbox, Needs: []fault.Need{fault.Children}, Touches: "ccm-network",
		Short: "cuts the way of the cloud controller manager to the API server",
		Long: "It still reaches its vCenters, and knows of no Node any more. Of several the leader cannot renew its lease, ends, and another one takes over. " +
			"Healing mends the way; connections that packets were lost on are reset then.",
		Params: []fault.Param{silently(), which()},
	}, pick)
}

func ccmCrashLoop() *fault.Kind {
	return crashLoop(fault.Kind{
		Name: "ccm.crash-loop", Object: fault.Sandbox, Needs: []fault.Need{fault.Children}, Touches: ccmProcess,
		Short: "kills the cloud controller manager again and again, whenever it has come up",
		Long: "Each start logs in to every vCenter and lists all nodes, and no run lives long enough to log out: a test of what a crash loop costs the vCenters. " +
			"The supervisor waits longer after each crash. Healing starts it again at once.",
		Params: []fault.Param{lives(), which()},
	}, pick)
}
