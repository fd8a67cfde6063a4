package glance

import (
	"cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// Power is whether a VM is on. Off is as bad as what the VM is for: a node that is off is to be looked at.
func Power(v api.VM) Mark {
	switch v.Power {
	case "on":
		return good("on")
	case "suspended":
		return warn("suspended")
	case "off":
		m := plain("off")
		if v.Role != "" {
			m.Level = Warn
		}
		return m
	}
	return doubt(orUnknown(v.Power))
}

// Connection is whether a vCenter reaches what it manages, a VM or a host, in the words of vSphere.
func Connection(state string) Mark {
	switch state {
	case "connected":
		return good(state)
	case "":
		return doubt("unknown")
	}
	return bad(text.Clean(state))
}

// Tools is whether the tools of a VM's guest run. Those of one that is off are not missed.
func Tools(v api.VM) Mark {
	switch {
	case v.Tools:
		return good("tools")
	case v.Power == "on":
		return warn("no tools")
	}
	return plain("no tools")
}

// Process is how the kubelet is that stands for the guest of a VM; nothing for a VM that is no node.
func Process(v api.VM) Mark {
	switch v.Process {
	case "":
		return Mark{}
	case "running":
		return good(v.Process)
	case "hung":
		return bad(v.Process)
	case "stopped":
		if v.Power != "on" {
			return plain(v.Process)
		}
	}
	return warn(text.Clean(v.Process))
}

// Gate is what clients get of a vCenter.
func Gate(v api.VCenter) Mark {
	switch v.Gate {
	case "up":
		return good("up")
	case "slow":
		return warn("slow")
	case "":
		return doubt("unknown")
	}
	return bad(text.Clean(v.Gate))
}

// orUnknown is a word that is not among those that are expected.
func orUnknown(s string) string { return cmp.Or(text.Clean(s), "unknown") }
