package mutants

// zones breaks what is made of tags.
func zones() []Mutant {
	const instances = "pkg/provider/instances.go"
	return []Mutant{
		{
			Name:   "farther-tag-wins",
			Breaks: "on the way up to the region, a zone that was found is replaced by one from farther up",
			File:   "pkg/provider/inventory/zone.go",
			Old: "\tif z.Region == \"\" {\n\t\tz.Region = region\n\t}\n" +
				"\tif z.Zone == \"\" {\n\t\tz.Zone = zone\n\t}\n",
			New: "\tif region != \"\" {\n\t\tz.Region = region\n\t}\n" +
				"\tif zone != \"\" {\n\t\tz.Zone = zone\n\t}\n",
			Caught: []Caught{{"zones/nearest-tag", `expect .*us-rack`}},
		},
		{
			Name:   "zone-holds-addresses",
			Breaks: "a node that is initialized gets no new addresses while its zone is not known",
			File:   instances,
			Old:    "if err != nil || zoneErr != nil && (!initialized(node) || i.choices.zoneHoldsAddresses) {",
			New:    "if err != nil || zoneErr != nil {",
			Caught: []Caught{{"zones/tag-removed", `expect .*worker-eu-1: .*198\.19\.200\.7`}},
		},
		{
			Name:   "initialized-without-zone",
			Breaks: "a node whose zone is not known yet is initialized without one, for good",
			File:   instances,
			Old:    "if err != nil || zoneErr != nil && (!initialized(node) || i.choices.zoneHoldsAddresses) {",
			New:    "if err != nil {",
			Caught: []Caught{{"zones/tag-late", `worker-eu-1: .*initialized`}},
		},
		{
			Name:   "first-tags-for-good",
			Breaks: "tags are read once, and what is changed later is never seen",
			File:   "pkg/provider/inventory/tags.go",
			Old:    "\t\tif why, err = t.schedule.idle(ctx, t.followed(), passing(err)); err != nil {\n",
			New: "\t\tif !t.state.Load().readAt.IsZero() {\n\t\t\t<-ctx.Done()\n\t\t}\n" +
				"\t\tif why, err = t.schedule.idle(ctx, t.followed(), passing(err)); err != nil {\n",
			Caught: []Caught{{"zones/tag-late", `expect node worker-eu-1: .*initialized no`}},
		},
		{
			Name:   "labels-follow-the-vm",
			Breaks: "the labels of a node move with its VM, without a request for that",
			File:   "pkg/provider/command.go",
			Old:    "RelabelZones: cmd.relabelZones",
			New:    "RelabelZones: true",
			Caught: []Caught{{"zones/vmotion", `never node worker-west-1: zone`}},
		},
	}
}
