package trace_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/trace"
)

// small is a vCenter with two VMs.
const small = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: trace}
spec:
  vcenters:
    - name: vc
      datacenters: [{name: dc, region: us, networks: [{name: net, cidr: 10.1.0.0/24}], datastores: [{name: ds}], clusters: [{name: c, zone: a, hosts: [{name: h}]}], vms: [{name: "w-{n}", replicas: 2, cluster: c}]}]
`

// recorded returns the trace of a client that logs in over SOAP and REST, looks around, changes passwords and fails.
func recorded(t *testing.T) (v *sim.VCenter, text string, secrets []string, calls []trace.Call) {
	t.Helper()
	lab := sim.Start(t, small)
	v = lab.VCenters()[0]
	var file bytes.Buffer
	r := trace.NewRecorder(&file)
	r.Attach("vc", v.Gate())
	ctx := t.Context()
	c := lab.ClientAs("vc", v.User(), v.Password()) // its login is recorded
	ticket, err := session.NewManager(c.Client).AcquireCloneTicket(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	var vms []mo.VirtualMachine
	if err := m.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name", "runtime.powerState"}, &vms); err != nil {
		t.Fatal(err)
	}
	if err := property.DefaultCollector(c.Client).RetrieveOne(ctx, types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-none"}, nil, &vms[0]); err == nil {
		t.Fatal("a VM that is not there")
	}
	rc := rest.NewClient(c.Client)
	if err := rc.Login(ctx, url.UserPassword(v.User(), v.Password())); err != nil {
		t.Fatal(err)
	}
	if _, err := tags.NewManager(rc).GetCategories(ctx); err != nil {
		t.Fatal(err)
	}
	spec := types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
		&types.OptionValue{Key: "guestinfo.userdata", Value: "token: abcdef.0123456789abcdef"}, &types.OptionValue{Key: "guestinfo.metadata", Value: "plain"},
	}}
	if _, err := methods.ReconfigVM_Task(ctx, c.Client, &types.ReconfigVM_Task{This: vms[0].Self, Spec: spec}); err != nil {
		t.Fatal(err)
	}
	secrets = append(v.Secrets(), ticket, "abcdef.0123456789abcdef")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	text = file.String()
	if err := trace.Read(&file, func(c trace.Call) error { calls = append(calls, c); return nil }); err != nil {
		t.Fatal(err)
	}
	return v, text, secrets, calls
}

func TestTrace(t *testing.T) {
	_, text, secrets, calls := recorded(t)
	for _, s := range secrets {
		if i := strings.Index(text, s); i >= 0 {
			t.Errorf("the trace has the secret %q: %s", s, text[max(0, i-300):i+len(s)])
		}
	}
	if !strings.Contains(text, "plain") {
		t.Error("other options are masked, too")
	}
	var story strings.Builder
	for i := range calls {
		if err := (trace.Text{Location: time.UTC}).Call(&story, i+1, &calls[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"→ Login on SessionManager:SessionManager\n      userName: ", "password: (masked)", "returnval: (masked)",
		"          name: w-1\n          runtime.powerState: poweredOn\n", "← 500 ManagedObjectNotFound", "→ GET /rest/com/vmware/cis/tagging/category", "session 1", "session 2",
	} {
		if !strings.Contains(story.String(), want) {
			t.Errorf("no %q in\n%s", want, &story)
		}
	}
	t.Logf("%s", &story)
	var har bytes.Buffer
	if err := trace.HAR(&har, calls); err != nil {
		t.Fatal(err)
	}
	var archive struct {
		Log struct {
			Version string
			Entries []struct {
				Request  struct{ URL string }
				Response struct{ Status int }
			}
		}
	}
	if err := json.Unmarshal(har.Bytes(), &archive); err != nil {
		t.Fatal(err)
	}
	if a := archive.Log; a.Version != "1.2" || len(a.Entries) != len(calls) || a.Entries[0].Request.URL != "https://vc/sdk" || a.Entries[0].Response.Status != http.StatusOK {
		t.Errorf("the archive is %s", har.Bytes()[:min(har.Len(), 2000)])
	}
}
