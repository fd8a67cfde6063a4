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
}

// TestZones are tests of the default scenario that share one boot, in this order.
func TestZones(t *testing.T) {
	t.Parallel()
	onOne(t, "zones-us-eu", []shared{
		{"AsTheTopologySays", asTheTopologySays},
		{"ZoneLabelsByDatacenter", zoneLabelsByDatacenter},
		{"Govc", govc},
		{"PowerOffAndOn", powerOffAndOn},
		{"SuspendAndResume", suspendAndResume},
		{"HangAndReset", hangAndReset},
		{"Move", move},
		{"HungVCenter", hungVCenter},
		{"VCenterOutage", vCenterOutage},
		{"LateZoneTag", lateZoneTag},
		{"CloudConfigEdited", cloudConfigEdited},
		{"VCenterDownWhenCCMStarts", vCenterDownWhenCCMStarts},
		{"WrongPassword", wrongPassword},
		// From here on machines are destroyed.
		{"DestroyWhileAnotherVCenterIsDown", destroyWhileAnotherVCenterIsDown}, // worker-east-2
		{"Destroy", destroy},         // worker-eu-2
		{"SlowVCenter", slowVCenter}, // worker-east-1; the vCenter stays slow
	})
}

// TestSingle are tests of the smallest scenario that share one boot, in this order.
func TestSingle(t *testing.T) {
	t.Parallel()
	onOne(t, "single", []shared{
		{"AsTheTopologySays", asTheTopologySays},
		{"LeastPrivilege", leastPrivilege},
		{"SecretsStayPrivate", secretsStayPrivate},
		{"HostileHostname", hostileHostname},
		{"Faults", faults}, // kills the sandbox
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
			if of.lives() {
				of.mend()
			}
		})
		if !s.lives() {
			s = nil
		} else if !good {
			h.Must("--name", s.Name, "down")
			s = nil
		}
	}
}

// lives reports whether the sandbox answers.
func (s *sandbox) lives() bool {
	_, err := s.Client.Status(s.T.Context())
	return err == nil
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
