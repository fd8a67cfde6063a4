package doctor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/stocksim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/doctor"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// as returns the configuration of an account.
func as(t *testing.T, lab *sim.Lab, user, password string, more ...string) *vcenter.Config {
	t.Helper()
	v, _ := lab.VCenter("vc")
	config, err := vcenter.FromEnvironment(append([]string{
		"GOVC_URL=" + v.Addr(), "GOVC_USERNAME=" + user, "GOVC_PASSWORD=" + password, "GOVC_TLS_CA_CERTS=" + lab.CAFile,
	}, more...))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func administrator(t *testing.T, lab *sim.Lab) *vcenter.Config {
	v, _ := lab.VCenter("vc")
	return as(t, lab, v.User(), v.Password())
}

// expect compares the findings that are not ok with "id level text", one for each.
func expect(t *testing.T, found []doctor.Finding, want ...string) {
	t.Helper()
	for _, f := range found {
		if f.Level == doctor.OK {
			continue
		}
		if f.Why == "" || f.Try == "" {
			t.Errorf("%+v does not say why, or what to try", f)
		}
		if len(want) == 0 {
			t.Errorf("also %+v", f)
			continue
		}
		words := strings.SplitN(want[0], " ", 3)
		if f.ID != words[0] || string(f.Level) != words[1] || !strings.Contains(f.What, words[2]) {
			t.Errorf("found %+v, want %s", f, want[0])
		}
		want = want[1:]
	}
	for _, w := range want {
		t.Errorf("not found: %s", w)
	}
}

func options() doctor.Options { return doctor.Options{UserAgent: "test"} }

func TestAdministrator(t *testing.T) {
	lab := sim.Start(t, "../testdata/zones.yaml")
	found := doctor.Check(t.Context(), administrator(t, lab), options())
	expect(t, found,
		"disk-uuid error 1 of 7 VMs do not have disk.enableUUID: off-1",
		"hardware-version error 1 of 7 VMs have a hardware version older than 15: worker-9",
		"tools warning worker-9",
	)
	if len(found) < 18 {
		t.Errorf("%d findings", len(found))
	}
	o := options()
	o.Selection = inventory.Selection{Names: []string{"cp-1"}}
	expect(t, doctor.Check(t.Context(), administrator(t, lab), o))
	o.Now = func() time.Time { return time.Now().Add(-time.Hour) }
	expect(t, doctor.Check(t.Context(), administrator(t, lab), o), "clock error off by 1h0m0")
	config := administrator(t, lab)
	config.Zone = "k8s-zoen"
	o.Now = nil
	expect(t, doctor.Check(t.Context(), config, o), `tag-categories error "k8s-zoen"`)
}

// TestTwo has two vCenters, of which one has what was chosen, and then none.
func TestTwo(t *testing.T) {
	lab := sim.Start(t, `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: two}
spec:
  vcenters:
    - {name: west, datacenters: [{name: dcw, region: r, zone: w, hosts: [{name: h1}], vms: [{name: w, role: worker, folder: k8s, extraConfig: [{key: disk.enableUUID, value: "1"}]}]}]}
    - {name: east, datacenters: [{name: dce, region: r, zone: e, hosts: [{name: h2}], vms: [{name: e}]}]}
`)
	config, err := vcenter.LoadFile(lab.CloudConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Selection = inventory.Selection{Folders: []string{"/dcw/vm/k8s"}}
	expect(t, doctor.Check(t.Context(), config, o))
	o.Selection = inventory.Selection{Folders: []string{"/dcw/vm/k8s", "/dcx/vm/k8s"}}
	expect(t, doctor.Check(t.Context(), config, o), `inventory error folder "/dcx/vm/k8s" not found`)
}

func TestReader(t *testing.T) {
	lab := sim.Start(t, "../testdata/zones.yaml")
	o := options()
	o.Selection = inventory.Selection{Names: []string{"cp-1"}}
	expect(t, doctor.Check(t.Context(), as(t, lab, "reader@vsphere.local", "secret of reader"), o),
		"privileges-csi-search error Cns.Searchable, StorageProfile.View",
		"privileges-csi-vm error VirtualMachine.Config.AddExistingDisk, VirtualMachine.Config.AddRemoveDevice",
		"privileges-csi-datastore warning Datastore.FileManagement",
	)
}

func TestNoSession(t *testing.T) {
	lab := sim.Start(t, "../testdata/zones.yaml")
	expect(t, doctor.Check(t.Context(), as(t, lab, "reader@vsphere.local", "wrong"), options()), "login error login refused")
	v, _ := lab.VCenter("vc")
	unknown := as(t, lab, v.User(), v.Password())
	unknown.VCenters[0].Authorities = nil
	expect(t, doctor.Check(t.Context(), unknown, options()), "certificate-trust error SHA-256")
	late := options()
	late.Now = func() time.Time { return time.Now().Add(350 * 24 * time.Hour) }
	late.Selection = inventory.Selection{Names: []string{"cp-1"}}
	expect(t, doctor.Check(t.Context(), administrator(t, lab), late), "certificate-expiry warning ends on", "clock error off by")
	silent := as(t, lab, "u", "p")
	silent.VCenters[0].Port = 1
	expect(t, doctor.Check(t.Context(), silent, options()), "reachable error does not answer")
}

// TestPinned has a certificate that only a thumbprint speaks for.
func TestPinned(t *testing.T) {
	lab := sim.Start(t, "../testdata/zones.yaml")
	v, _ := lab.VCenter("vc")
	config := as(t, lab, v.User(), v.Password())
	chain, err := config.VCenters[0].Presented(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config.VCenters[0].Authorities, config.VCenters[0].Thumbprint = nil, soap.ThumbprintSHA256(chain[0])
	o := options()
	o.Selection = inventory.Selection{Names: []string{"cp-1", "nobody-*"}}
	var steps []string
	o.OnStep = func(vcenter, what string) { steps = append(steps, what) }
	expect(t, doctor.Check(t.Context(), config, o),
		"certificate-trust warning by its thumbprint, and by no authority", `inventory-warning warning name pattern "nobody-*"`)
	if len(steps) < 4 {
		t.Errorf("steps %q", steps)
	}
}

// TestEarly has a certificate that is not good yet, by a clock that is behind.
func TestEarly(t *testing.T) {
	lab := sim.Start(t, "../testdata/zones.yaml")
	o := options()
	o.Selection = inventory.Selection{Names: []string{"cp-1"}}
	o.Now = func() time.Time { return time.Now().Add(-30 * 24 * time.Hour) }
	expect(t, doctor.Check(t.Context(), administrator(t, lab), o), "certificate-expiry error is good from", "clock error off by")
}

// TestDuplicates has two VMs with one name and one UUID in two datacenters.
func TestDuplicates(t *testing.T) {
	lab := sim.Start(t, fmt.Sprintf(`
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: twins}
spec:
  allowDuplicate: [hostname, uuid]
  vcenters:
    - name: vc
      datacenters:
        - {name: a, region: r, zone: z, hosts: [{name: ha}], vms: [%[1]s]}
        - {name: b, region: r, zone: z, hosts: [{name: hb}], vms: [%[1]s]}
`, `{name: twin, role: worker, uuid: 4210c0de-0000-4000-8000-000000000001, extraConfig: [{key: disk.enableUUID, value: "1"}]}`))
	expect(t, doctor.Check(t.Context(), administrator(t, lab), options()),
		"uuid-duplicate error 4210c0de-0000-4000-8000-000000000001 is that of", "hostname-duplicate error hostname twin")
}

func TestStock(t *testing.T) {
	s, err := stocksim.Start(2, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Remove)
	password, _ := s.URL().User.Password()
	config, err := vcenter.FromEnvironment([]string{
		"GOVC_URL=" + s.URL().Host, "GOVC_USERNAME=" + s.URL().User.Username(), "GOVC_PASSWORD=" + password, "GOVC_INSECURE=1",
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, doctor.Check(t.Context(), config, options()),
		"certificate-trust warning not verified", "version error 6.5.0", "inventory-warning warning 404", "tag-categories error 404", "disk-uuid error 3 of 3",
		"hardware-version error 3 of 3", "tools warning 3 of 3")
}

// Doctor reports configured names that a vCenter does not have in the provider's words, and finds a datacenter by every form
// that the provider accepts (findings/cpi.md A5).
func TestNames(t *testing.T) {
	lab := sim.Start(t, `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: names}
spec:
  vcenters:
    - name: vc
      folders: [{path: emea/de}]
      datacenters: [{name: DC-Nord, folder: emea/de, region: r, zone: z, hosts: [{name: h1}], vms: [{name: w, role: worker, extraConfig: [{key: disk.enableUUID, value: "1"}]}]}]
`)
	config := administrator(t, lab)
	for name, want := range map[string]string{
		"DC-Nord": "", "/emea/de/DC-Nord": "", "emea/de/DC-Nord/": "",
		"DC-Nrod":            `datacenter "DC-Nrod" not found (did you mean "DC-Nord"?), or this account may not see it`,
		"/europe/de/DC-Nord": `datacenter "/europe/de/DC-Nord" not found (did you mean "/emea/de/DC-Nord"?), or this account may not see it`,
	} {
		config.VCenters[0].Datacenters = []string{name}
		found := doctor.Check(t.Context(), config, options())
		if want == "" {
			expect(t, found)
		} else {
			expect(t, found, "inventory error "+want)
		}
	}
	config.VCenters[0].Datacenters, config.Zone = nil, "k8s-zones"
	expect(t, doctor.Check(t.Context(), config, options()), `tag-categories error tag category "k8s-zones" does not exist (did you mean "k8s-zone"?)`)
}
