package topology

import "github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"

// checkReactions checks a vCenter's automatic actions, and that details only accompany enabled ones.
func checkReactions(p *problems, vcenter *VCenter, at *path) {
	at = at.key("reactions")
	r := vcenter.Reactions
	needsEnabled(p, r.HA.Enabled, r.HA != HA{}, at.key("ha"))
	needsEnabled(p, r.DRS.Enabled, r.DRS != DRS{}, at.key("drs"))
	needsEnabled(p, r.DHCP.Enabled, r.DHCP != DHCP{}, at.key("dhcp"))
	largest := 0
	for _, dc := range vcenter.Datacenters {
		for _, cluster := range dc.Clusters {
			largest = max(largest, len(cluster.Hosts))
		}
	}
	if failures := int(r.HA.HostFailures); largest > 0 && failures >= largest {
		p.field(at.key("ha").key("hostFailures"), "", "leaves no host of any compute cluster, the largest of which has %s: no VM could be powered on",
			shorten.Count(largest, "host"))
	}
}

// needsEnabled reports details of a reaction that is neither enabled nor explicitly disabled.
func needsEnabled(p *problems, enabled Choice, reported bool, at *path) {
	if reported && enabled == "" {
		p.field(at, "", "has no effect without enabled: yes (or enabled: no, to keep it for later)")
	}
}
