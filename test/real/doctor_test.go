package real

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// finding is one as the program prints it.
type finding struct{ ID, Level, What, Why, Try string }

// doctor runs the checks, and returns those that are not ok as "id level", and all of them.
func (h *home) doctor(args ...string) (program.Result, []string, []finding) {
	h.T.Helper()
	r := h.Try(append([]string{"doctor", "-o", "json"}, args...)...)
	var list struct{ Items []finding }
	if err := json.Unmarshal([]byte(r.Out), &list); err != nil {
		h.T.Fatalf("doctor: %v\n%s", err, r.Both())
	}
	var bad []string
	for _, f := range list.Items {
		if f.Level == "ok" {
			continue
		}
		bad = append(bad, f.ID+" "+f.Level)
		if f.What == "" || f.Why == "" || f.Try == "" {
			h.T.Errorf("%+v does not say what, why and what to try", f)
		}
	}
	return r, bad, list.Items
}

// diagnosed wants these findings, and an exit status that goes with them.
func (h *home) diagnosed(want []string, args ...string) []finding {
	h.T.Helper()
	r, bad, all := h.doctor(args...)
	if !slices.Equal(want, bad) {
		h.T.Errorf("found %q, want %q\n%s", bad, want, r.Both())
	}
	code := 0
	if slices.ContainsFunc(want, func(s string) bool { return strings.HasSuffix(s, " error") }) {
		code = 4
	}
	if r.Code != code {
		h.T.Errorf("exit status %d, want %d\n%s", r.Code, code, r.Err)
	}
	return all
}

// saying is the finding of that id; its text has to hold the words.
func saying(t *testing.T, all []finding, id string, words ...string) {
	t.Helper()
	i := slices.IndexFunc(all, func(f finding) bool { return f.ID == id && f.Level != "ok" })
	if i < 0 {
		t.Errorf("there is no finding %s", id)
		return
	}
	for _, w := range words {
		if !strings.Contains(all[i].What+" "+all[i].Why+" "+all[i].Try, w) {
			t.Errorf("%s does not say %q: %+v", id, w, all[i])
		}
	}
}

// What is well is found well, and every check that there is has been made.
func TestDoctorWell(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h := newHome(t)
		all := h.diagnosed(nil, "--vcenter-config", s.config(h), "--folder", "k8s")
		for _, id := range []string{
			"reachable", "certificate-expiry", "certificate-name", "certificate-trust", "login", "version", "clock", "inventory",
			"privileges-ccm", "privileges-csi-vm", "tag-categories", "zones", "disk-uuid", "hardware-version", "tools", "hostname", "addresses",
			"uuid-duplicate", "hostname-duplicate",
		} {
			if !slices.ContainsFunc(all, func(f finding) bool { return f.ID == id }) {
				t.Errorf("nothing is said of %s", id)
			}
		}
		if out := h.with(s.environ()).Must("doctor", "--vcenter-config", "env", "--folder", "k8s"); !strings.Contains(out, "disk-uuid") {
			t.Errorf("by govc's variables:\n%s", out)
		}
	})
}

// An unprepared stand-in: an old release, no tags, no settings, silent guests.
func TestDoctorBare(t *testing.T) {
	t.Parallel()
	s, h := stock(t), newHome(t)
	all := h.diagnosed([]string{
		"version error", "tag-categories error", "tag-categories error", "disk-uuid error", "hardware-version error", "tools warning",
	}, "--vcenter-config", s.config(h))
	saying(t, all, "version", "6.5.0", "upgrade to 7.0")
	saying(t, all, "tag-categories", "k8s-region")
	saying(t, all, "disk-uuid", "2 of 2 VMs", "DC0_C0_RP0_VM0", "govc vm.change -e disk.enableUUID=TRUE")
	table := h.Try("doctor", "--vcenter-config", s.config(h))
	if table.Code != 4 || !strings.Contains(table.Out, "    why: ") || !strings.Contains(table.Out, "    try: ") || !strings.Contains(table.Err, "error: 5 of ") {
		t.Errorf("exit status %d\n%s", table.Code, table.Both())
	}
}

// What one VM lacks is reported for that VM; a name pattern without matches is reported, too.
func TestDoctorOne(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h := newHome(t)
		name := s.machines()["far-2"].Name
		s.govc("vm.change", "-vm", folder+"/"+name, "-e", "disk.enableUUID=FALSE")
		all := h.diagnosed([]string{"inventory-warning warning", "disk-uuid error"}, "--vcenter-config", s.config(h), "--folder", folder, "--vm", "*", "--vm", "cp-?")
		saying(t, all, "disk-uuid", "1 of 3 VMs", name)
		saying(t, all, "inventory-warning", `"cp-?"`)
	})
}

// The user who may only read cannot do what the CSI driver has to.
func TestDoctorReader(t *testing.T) {
	t.Parallel()
	s, h := permitted(t), newHome(t)
	all := h.diagnosed([]string{
		"privileges-csi-search error", "privileges-csi-vm error", "privileges-csi-datastore warning",
	}, "--vcenter-config", s.as(s.reader).config(h), "--folder", "k8s")
	saying(t, all, "privileges-csi-vm", "VirtualMachine.Config.AddExistingDisk", "3 of 3", "far-1")
}

// The clock of another time.
func TestDoctorClock(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h, p := newHome(t), newProxy(t, s)
		conf := p.config(h)
		p.set(func(p *proxy) { p.clock = 90 * time.Second })
		saying(t, h.diagnosed([]string{"clock warning"}, "--vcenter-config", conf, "--folder", "k8s"), "clock", "off by 1m", "NTP")
		p.set(func(p *proxy) { p.clock = -90 * time.Minute })
		saying(t, h.diagnosed([]string{"clock error"}, "--vcenter-config", conf, "--folder", "k8s"), "clock", "off by -1h", "single sign-on")
	})
}

// An untrusted certificate is shown with its fingerprint and with how to trust it; that then works.
func TestDoctorUntrusted(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h := newHome(t)
		stranger := s.at(s.address, "")
		all := h.diagnosed([]string{"certificate-trust error"}, "--vcenter-config", stranger.config(h))
		saying(t, all, "certificate-trust", "SHA-256", s.fingerprint(), "caFile", "thumbprint")
		pinned := stranger.config(h, "    thumbprint: \""+s.fingerprint()+"\"\n")
		all = h.diagnosed([]string{"certificate-trust warning"}, "--vcenter-config", pinned, "--folder", "k8s")
		saying(t, all, "certificate-trust", "by its thumbprint", "caFile")
	})
}
