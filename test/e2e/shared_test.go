package e2e

import (
	"testing"
	"time"
)

// shared is a test on a sandbox that others have used before it and will use after it. It may leave machines off, and may
// destroy the ones that the tests after it do not name.
type shared struct {
	name string
	run  func(*sandbox)
	ends bool // it ends the sandbox
}

// TestZones are tests of the default scenario that share one boot, in this order.
func TestZones(t *testing.T) {
	t.Parallel()
	onOne(t, "zones-us-eu", []shared{
		{name: "AsTheTopologySays", run: asTheTopologySays},
		{name: "ZoneLabelsByDatacenter", run: zoneLabelsByDatacenter},
		{name: "Components", run: components},
		{name: "LookIntoPods", run: lookIntoPods},
		{name: "Govc", run: govc},
		{name: "PowerOffAndOn", run: powerOffAndOn},
		{name: "SuspendAndResume", run: suspendAndResume},
		{name: "HangAndReset", run: hangAndReset},
		{name: "Move", run: move},
		{name: "HungVCenter", run: hungVCenter},
		{name: "VCenterOutage", run: vCenterOutage},
		{name: "LateZoneTag", run: lateZoneTag},
		{name: "CloudConfigEdited", run: cloudConfigEdited},
		{name: "VCenterDownWhenCCMStarts", run: vCenterDownWhenCCMStarts},
		{name: "WrongPassword", run: wrongPassword},
		// From here on machines are destroyed.
		{name: "DestroyWhileAnotherVCenterIsDown", run: destroyWhileAnotherVCenterIsDown}, // worker-east-2
		{name: "Destroy", run: destroy},         // worker-eu-2
		{name: "SlowVCenter", run: slowVCenter}, // worker-east-1; the vCenter stays slow
	})
}

// TestSingle are tests of the smallest scenario that share one boot, in this order.
func TestSingle(t *testing.T) {
	t.Parallel()
	onOne(t, "single", []shared{
		{name: "AsTheTopologySays", run: asTheTopologySays},
		{name: "Scale", run: scaleRunning},
		{name: "LeastPrivilege", run: leastPrivilege},
		{name: "SecretsStayPrivate", run: secretsStayPrivate},
		{name: "WebhookWithService", run: webhookWithService},
		{name: "AggregatedAPI", run: aggregatedAPI},
		{name: "LoadBalancerAnswers", run: loadBalancerAnswers},
		{name: "HostileHostname", run: hostileHostname},
		{name: "Faults", run: faults, ends: true},
	})
}

// onOne runs tests on one sandbox of a scenario. After one that fails, or that ends the sandbox, the next gets a new one.
func onOne(t *testing.T, scenario string, tests []shared) {
	t.Helper()
	h := newHome(t)
	var s *sandbox
	for _, test := range tests {
		if s == nil {
			s = h.up("shared", scenario)
		}
		good := t.Run(test.name, func(t *testing.T) {
			of := (&home{h.In(t)}).attach(s.Name)
			test.run(of)
			if !test.ends {
				of.mend()
			}
		})
		if !good || test.ends {
			h.Try("--name", s.Name, "down")
			s = nil
		}
	}
}

// mend powers on what is off, and waits until the node of every machine is well.
func (s *sandbox) mend() {
	s.T.Helper()
	vms, err := s.Client.VMs(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	var names []string
	for _, vm := range vms {
		if vm.Role == "" {
			continue
		}
		if vm.Power != "on" {
			s.vm("power-on", vm.Name)
		}
		names = append(names, vm.Name)
	}
	s.Await("all well", time.Minute, func() bool { return s.unwell(names) == "" })
}
