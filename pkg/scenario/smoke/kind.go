package smoke

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/verdict"
)

// kind is what differs between the programs that can be judged.
type kind struct {
	// noun is what people call it, short what tables do.
	noun, short string
	// components are its processes, the first one always, the others of some programs only.
	components []string
	// agent are its clients at the vCenters, as in [expect.Agent].
	agent string
	// upgrade and leader are scenarios of this package; leader is "" for a kind without replicas.
	upgrade, leader string
	// instead is the scenario of the catalogue that leader replaces: that of this package has two replicas from the beginning, and
	// expects nothing of the other one that a single replica might fail at too.
	instead string
	// phases are what calls are counted of: the start, a quiet minute, and scenarios of this package.
	phases []Phase
	// exits are releases that do not exit in order, sanity are those that fail tests of that suite.
	exits, sanity []verdict.Known
	// excused are the tests that those releases fail.
	excused []excused
}

// The phases that are no scenarios.
const (
	phaseStart  = "start"
	phaseSteady = "steady"
)

// phasePrefix begins the names of the scenarios whose calls are counted.
const phasePrefix = "calls-"

// onePerMachine is why the leader of some drivers is not killed.
const onePerMachine = "several controllers of another project's driver cannot run on one machine"

const steadyText = "a minute in which nothing happens"

// manager is the kind of cloud controller managers. v1.36.0 logs on its way out "restarting pod because received event [no events]";
// v1.34.0 has the same lines.
func manager() *kind {
	return &kind{
		noun: "cloud controller manager", short: "CCM", components: []string{"ccm"}, agent: "ccm",
		upgrade: "upgrade", leader: "leader-lost", instead: "leader-hand-over",
		phases: []Phase{
			{Name: phaseStart, Text: "start, until all nodes are initialized and ready"},
			{Name: phaseSteady, Text: steadyText},
			{Name: "calls-power-off", Text: "a VM is powered off, and on again"},
			{Name: "calls-outage", Text: "a vCenter is away, and comes back"},
		},
		exits: []verdict.Known{{
			CCM: ">=v1.34.0", Why: "on its way out upstream's main closes the watch of its configuration, takes that for a change, and ends with klog.Fatal",
			Sometimes: "restarting pod because received event",
		}},
	}
}

// driver is the kind of CSI drivers. Upstream's runs its syncer as a separate process.
func driver() *kind {
	return &kind{
		noun: "CSI driver", short: "CSI driver", components: []string{"csi-controller", "csi-syncer"}, agent: "csi",
		upgrade: "driver-upgrade", leader: "driver-leader-lost",
		phases: []Phase{
			{Name: phaseStart, Text: "start, until every node takes volumes"},
			{Name: phaseSteady, Text: steadyText},
			{Name: "calls-volume", Text: "a claim, until its pod runs with the volume and after both are deleted"},
			{Name: "calls-volume-outage", Text: "a vCenter is away while a claim waits for it, and comes back"},
		},
		exits: []verdict.Known{{
			CSI: ">=v3.7.0", Why: "its syncer logs out of one vCenter after the other, and ends in the middle of that: some of its sessions stay",
			Sometimes: "sessions are still there",
		}},
		sanity: []verdict.Known{{
			CSI: ">=v3.7.0", Why: "its answers to requests without a field, or about what does not exist, are not those of the specification; it makes volumes only with names that an object of Kubernetes can have",
		}},
		excused: upstreamSanity(),
	}
}

// kindOf returns the kind of a program.
func kindOf(p Program) *kind {
	if p.Driver {
		return driver()
	}
	return manager()
}

// counted are the names of the scenarios whose calls are counted.
func (k *kind) counted() []string {
	var names []string
	for _, p := range k.phases {
		if strings.HasPrefix(p.Name, phasePrefix) {
			names = append(names, p.Name)
		}
	}
	return names
}

// suite returns the scenarios of a suite that are about this kind, without the one that the package replaces.
func (k *kind) suite(list []*scenario.Scenario) []*scenario.Scenario {
	return slices.DeleteFunc(slices.Clone(list), func(s *scenario.Scenario) bool { return s.Metadata.Name == k.instead })
}

// Volumes returns the scenarios that need a CSI driver.
func Volumes(list []*scenario.Scenario) []*scenario.Scenario {
	return slices.DeleteFunc(slices.Clone(list), func(s *scenario.Scenario) bool {
		return s.Components.CSI == "" || s.Components.CSI == "off"
	})
}
