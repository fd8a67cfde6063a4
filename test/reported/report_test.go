package reported

import "context"

// report is something that people saw.
type report struct {
	// saw names the subtest: what would be seen if it came back.
	saw string
	// issues are upstream's ("#359"), or those of the project named ("rancher #50089").
	issues []string
	// vms are used by this report only.
	vms []vm
	// nodes are others that it makes Nodes of.
	nodes []string
	// run has it happen. An error is what people saw, or that it could not be found out.
	run func(context.Context, *ground) error
}

// vm is a machine of the topology.
type vm struct {
	name string
	at   place  // west when empty
	more string // further keys of its topology: "nics: [...], hostname: x"
}

// some are machines in west without wishes.
func some(names ...string) []vm {
	all := make([]vm, len(names))
	for i, name := range names {
		all[i].name = name
	}
	return all
}

// phase is one configuration of a CCM, and what is tried with it.
type phase struct {
	name string
	// start starts the CCM.
	start func(*ground)
	// together is tried at the same time; then what disturbs others, in turn.
	together, inTurn []report
}

func phases() []phase {
	return []phase{
		{
			name: "zones of two vCenters", start: startMain,
			together: concat(lifecycleReports(), nameReports(), lateReports(), uuidReports(), zoneReports(), startReports(), mistakeReports()),
			inTurn:   concat(faultReports(), panicReports()),
		},
		{name: "addresses by network", start: startNetworks, inTurn: networkReports()},
		{name: "SKIP_NODE_DELETION", start: startSkipping, together: skipReports()},
		{name: "zones enabled late", start: startWithoutZones, inTurn: relabelReports()},
		{name: "a crowd at a vCenter that takes its time", start: startCrowd, together: crowdReports()},
		{name: "a vCenter with few sessions", start: startFew, together: fewReports()},
		{name: "a vCenter with a name", start: startDoor, together: doorReports()},
	}
}

func concat(lists ...[]report) []report {
	var all []report
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func reportsOf(all []phase) []report {
	var reports []report
	for _, p := range all {
		reports = append(reports, concat(p.together, p.inTurn)...)
	}
	return reports
}
