package check

// judgeLabels compares the labels of zones that the in-tree provider set with those that are used now.
func (c *run) judgeLabels() {
	var differ, only, old []string
	for _, n := range c.report.Nodes {
		switch {
		case n.OldZone == "" && n.OldRegion == "":
			continue
		case n.Zone == "" && n.Region == "":
			only = append(only, n.Name)
		case n.OldZone != n.Zone || n.OldRegion != n.Region:
			differ = append(differ, n.Name+" ("+n.OldRegion+"/"+n.OldZone+", "+n.Region+"/"+n.Zone+")")
		}
		old = append(old, n.Name)
	}
	if len(old) == 0 {
		c.pass("node-labels", cluster, "%s: none has a label of failure-domain.beta.kubernetes.io", count(len(c.report.Nodes), "node"))
		return
	}
	if len(differ) == 0 && len(only) == 0 {
		c.pass("node-labels", cluster, "%d of %d nodes have labels of failure-domain.beta.kubernetes.io, and the same of topology.kubernetes.io",
			len(old), len(c.report.Nodes))
	}
	if len(differ) > 0 {
		c.each(Finding{
			Check: "node-labels", Verdict: Warn, Where: cluster,
			Why: "a cloud controller manager takes the old label for the truth, and writes its value over the new one",
			Try: "correct the old label: kubectl label node NODE --overwrite failure-domain.beta.kubernetes.io/zone=ZONE failure-domain.beta.kubernetes.io/region=REGION",
		}, differ, len(c.report.Nodes), "node", "", "have labels of failure-domain.beta.kubernetes.io that are not those of topology.kubernetes.io")
	}
	if len(only) > 0 {
		c.each(Finding{
			Check: "node-labels", Verdict: Warn, Where: cluster,
			Why: "what selects zones by topology.kubernetes.io does not find them until a cloud controller manager has copied the labels",
			Try: "nothing: it does that at once when it starts; selectors of your own on the old labels have to be changed",
		}, only, len(c.report.Nodes), "node", "", "have labels of failure-domain.beta.kubernetes.io only")
	}
	c.judgeOldZones()
}

// judgeOldZones compares old labels with the tags of VMs.
func (c *run) judgeOldZones() {
	var moved []string
	for _, n := range c.report.Nodes {
		if n.VM == nil || n.VM.Zone == "" || n.OldZone == "" || n.OldZone == n.VM.Zone && n.OldRegion == n.VM.Region {
			continue
		}
		moved = append(moved, n.Name+" ("+n.OldRegion+"/"+n.OldZone+", tags "+n.VM.Region+"/"+n.VM.Zone+")")
	}
	if len(moved) > 0 {
		c.each(Finding{
			Check: "node-old-zones", Verdict: Warn, Where: cluster,
			Why: "the old labels stay, and a cloud controller manager has the new ones follow them",
			Try: "remove the old labels of these nodes before the cloud controller manager starts: kubectl label node NODE failure-domain.beta.kubernetes.io/zone- failure-domain.beta.kubernetes.io/region-",
		}, moved, len(c.report.Nodes), "node", "", "have old labels that are not the tags of their VMs")
	}
}
