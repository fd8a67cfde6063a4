package record

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmware/govmomi/event"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/calls"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/trace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/record"
)

// owned is a vCenter whose every name says whose it is.
const owned = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: acme}
spec:
  vcenters:
    - name: acme-vc
      users: [{name: acme-robot@vsphere.local, password: acme-password-1}]
      permissions: [{user: acme-robot@vsphere.local, role: Admin}]
      datacenters:
        - name: acme-dc
          region: acme-region
          networks: [{name: Acme VM Network, cidr: 10.77.0.0/16}]
          datastores: [{name: acme-ds}]
          clusters: [{name: acme-c, zone: acme-zone, hosts: [{name: esx7.acme.example}]}]
          folders: [{path: acme-vms}]
          vms:
            - {name: acme-web, cluster: acme-c, folder: acme-vms, hostname: acme-host, nics: [{addresses: [10.77.5.9/16]}]}
`

// conversation is what a client says to the vCenter, over SOAP and REST. It returns what must not be recorded.
func conversation(t *testing.T, lab *sim.Lab, v *sim.VCenter) (secrets []string) {
	t.Helper()
	ctx := t.Context()
	const user, password = "acme-robot@vsphere.local", "acme-password-1"
	c := lab.ClientAs("acme-vc", user, password)
	c.UserAgent = "backup/1.2 (of acme-laptop)"
	m, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"ManagedEntity"}, true)
	if err != nil {
		t.Fatal(err)
	}
	var hosts []mo.HostSystem
	var vms []mo.VirtualMachine
	if err := m.Retrieve(ctx, []string{"HostSystem"}, nil, &hosts); err != nil {
		t.Fatal(err)
	}
	if err := m.Retrieve(ctx, []string{"VirtualMachine"}, nil, &vms); err != nil {
		t.Fatal(err)
	}
	vm, err := find.NewFinder(c.Client).VirtualMachine(ctx, "/acme-dc/vm/acme-vms/acme-web")
	if err != nil {
		t.Fatal(err)
	}
	index := object.NewSearchIndex(c.Client)
	if found, err := index.FindByUuid(ctx, nil, vms[0].Config.Uuid, true, nil); err != nil || found == nil {
		t.Fatal(found, err)
	}
	if found, err := index.FindByIp(ctx, nil, "10.77.5.9", true); err != nil || found == nil {
		t.Fatal(found, err)
	}
	if _, err := event.NewManager(c.Client).QueryEvents(ctx, types.EventFilterSpec{}); err != nil { // their texts have names; before a task, whose event may come later
		t.Fatal(err)
	}
	if _, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{Annotation: "Jane of Acme's <notes> & 10.77.5.10, 2001:db8:77::1"}); err != nil {
		t.Fatal(err)
	}
	rc := rest.NewClient(c.Client)
	if err := rc.Login(ctx, url.UserPassword(user, password)); err != nil {
		t.Fatal(err)
	}
	tagged := tags.NewManager(rc)
	if all, err := tagged.GetTags(ctx); err != nil || len(all) < 2 {
		t.Fatal(all, err)
	}
	if _, err := tagged.GetAttachedTagsOnObjects(ctx, []mo.Reference{hosts[0].Reference(), vm.Reference()}); err != nil {
		t.Fatal(err)
	}
	secrets = append(v.Secrets(), password, v.InstanceUUID(), vms[0].Config.Uuid, vms[0].Config.InstanceUuid, vms[0].Guest.Net[0].MacAddress, rc.SessionID(),
		hosts[0].Hardware.SystemInfo.Uuid, "acme", "esx7", "jane", "robot", "10.77.", "2001:db8:77", "laptop", "vmware_soap_session")
	for _, s := range v.Sessions() {
		secrets = append(secrets, s.Key)
	}
	for _, cookie := range c.Jar.Cookies(c.URL()) {
		secrets = append(secrets, strings.Trim(cookie.Value, `"`))
	}
	return secrets
}

// The conversation of a client with another person's vCenter is recorded without anything of theirs, and compares with the simulator
// that runs the recorded topology.
func TestRecordCalls(t *testing.T) {
	lab := sim.Start(t, owned)
	v, _ := lab.VCenter("acme-vc")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	out, err := os.Create(in("run.trace"))
	if err != nil {
		t.Fatal(err)
	}
	r := trace.NewRecorder(out)
	r.Attach("acme-vc", v.Gate())
	secrets := conversation(t, lab, v)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}

	e := clitest.NewEnv(nil)
	run := func(args ...string) {
		t.Helper()
		if r := e.Run(t.Context(), NewCmdRecord(e.Deps, nil), args...); r.Exit != 0 {
			t.Fatalf("%q ended with %+v\n%s", args, r, e.Err)
		}
	}
	run("--vcenter-config", lab.CloudConfigFile(), "--anonymise", "--pseudonyms", in("map.json"), "-f", in("bug.yaml"))
	run("--calls", in("run.trace"), "--pseudonyms", in("map.json"), "-f", in("bug.trace"))
	if !strings.Contains(e.Err.String(), "calls replay "+in("bug.trace")) {
		t.Errorf("said %s", e.Err)
	}
	raw, text := read(t, in("run.trace")), read(t, in("bug.trace"))
	for _, secret := range secrets {
		if i := strings.Index(strings.ToLower(text), strings.ToLower(secret)); secret == "" || i >= 0 {
			t.Errorf("%q is still there: …%s…", secret, text[max(0, i-300):min(len(text), i+60)])
		}
	}
	for _, word := range []string{"poweredOn", "VirtualMachine", "FindByUuid", "config", "runtime", "backup/1.2", "attached-tags-on-objects"} {
		if !strings.Contains(raw, word) || !strings.Contains(text, word) {
			t.Errorf("%s is gone, which is of the API or of the client", word)
		}
	}
	if strings.Count(raw, "\n") != strings.Count(text, "\n") {
		t.Errorf("%d calls, recorded %d", strings.Count(raw, "\n"), strings.Count(text, "\n"))
	}

	// The simulator has the same names, and answers in the same form.
	again := sim.Start(t, in("bug.yaml"))
	w := again.VCenters()[0]
	u := w.URL()
	server := clitest.Serve(t, clitest.World{Access: []api.Access{{VCenter: w.Name(), URL: u.String(), User: w.User(), Password: w.Password(), CAFile: again.CAFile}}})
	sandbox := clitest.NewEnv(server)
	if r := sandbox.Run(t.Context(), calls.NewCmdReplay(sandbox.Deps, nil), in("bug.trace")); r.Exit != 0 || !strings.Contains(sandbox.Out.String(), " 0 different, 0 not compared") {
		t.Errorf("ended with %+v\n%s%s", r, sandbox.Out, sandbox.Err)
	}
}

// Without a map and without a file, the calls are on standard output. What cannot be used is refused.
func TestRecordCallsOptions(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "trace")
	const line = `{"vcenter":"acme","transport":"rest","method":"GET /api/vcenter/acme","status":503,"verb":"GET","uri":"/api/vcenter/acme?names=acme",` +
		`"request":{"size":0,"header":{"Cookie":"a=(masked)","Authorization":"Basic (masked)","X-Acme":"1","Accept":"*/*"}},"answer":{"size":9,"body":"acme is down"}}`
	if err := os.WriteFile(file, []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := clitest.NewEnv(nil)
	r := e.Run(t.Context(), NewCmdRecord(e.Deps, nil), "--calls", file)
	for _, gone := range []string{"acme", "Acme", "Cookie", "Authorization", "masked", "down"} {
		if strings.Contains(e.Out.String(), gone) {
			t.Errorf("%s is in %s", gone, e.Out)
		}
	}
	if r.Exit != 0 || !strings.Contains(e.Out.String(), `"Accept":"*/*"`) || !strings.Contains(e.Out.String(), `"uri":"/api/vcenter/vcenter-1?names=vcenter-1"`) {
		t.Errorf("ended with %+v\n%s", r, e.Out)
	}
	for _, tc := range []struct {
		args []string
		code string
	}{
		{[]string{"--calls", filepath.Join(dir, "none")}, "trace-unreadable"},
		{[]string{"--calls", file, "--vm", "x"}, "usage"},
		{[]string{"--calls", file, "--vcenter-config", "x"}, "usage"},
		{[]string{"--calls", file, "-f", file}, "usage"},
		{[]string{"--calls", file, "-o", "yaml"}, "usage"},
	} {
		e := clitest.NewEnv(nil)
		if r := e.Run(t.Context(), NewCmdRecord(e.Deps, nil), tc.args...); r.Exit != report.Usage || r.Code != tc.code || e.Out.Len() > 0 {
			t.Errorf("%q: ended with %+v", tc.args, r)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each form of an identifier is replaced as a whole, and what is of the API stays.
func TestTexts(t *testing.T) {
	names := new(record.Pseudonyms)
	names.Name("network", "Acme VM Network")
	p := trace.NewPseudonymizer(names)
	for _, tc := range []struct{ text, want string }{
		{"poweredOn", "poweredOn"},
		{"config.hardware.device[4000]", "config.hardware.device[4000]"},
		{"2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678Z"},
		{"vm-42", "vm-42"},
		{"-12.5", "-12.5"},
		{"acme VM network", "network-1"}, // names have no case
		{"Acme%20VM%20Network", "network-1"},
		{"[acme-ds] web/web.vmdk", "[name-1] name-2/name-2.vmdk"},
		{"web.acme.example:443", "name-2.name-3.name-4:443"},
		{"/acme/vm/web", "/name-3/vm/name-2"},
		{"https://10.77.5.9/sdk", "https://10.0.0.2/sdk"},
		{"10.77.5.10/16", "10.128.0.2/16"},
		{"fails at 2001:db8:77::1, not at 10.77.5.9", "name-5 name-6 fd00:0:0:1::2, name-7 name-6 10.0.0.2"},
		{"127.0.0.1", "127.0.0.1"},
		{"4210F0A0-0000-4000-8000-0000000000AB", "42000000-0000-4000-8000-000000000001"},
		{"urn:vmomi:InventoryServiceTag:4210f0a0-0000-4000-8000-0000000000ab:GLOBAL", "urn:vmomi:InventoryServiceTag:42000000-0000-4000-8000-000000000001:GLOBAL"},
		{"VMware-42 10 f0 a0 00 00 40 00-80 00 00 00 00 00 00 ab", "VMware-42 00 00 00 00 00 40 00-80 00 00 00 00 00 00 01"},
		{"00:50:56:aa:bb:cc", "00:50:56:00:00:02"},
	} {
		c := trace.Call{Fault: tc.text}
		if err := p.Call(&c); err != nil || c.Fault != tc.want {
			t.Errorf("%s is %s, %v; want %s", tc.text, c.Fault, err, tc.want)
		}
	}
}
