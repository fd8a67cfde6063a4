package front_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// TestReads goes through every API that a cloud provider and a CSI driver read.
func TestReads(t *testing.T) {
	r := start(t, scope.Scope{})
	c, rc := r.client(t, "reader/1")
	ctx := t.Context()
	if n := len(vms(t, c.Client)); n != 2 {
		t.Errorf("%d VMs", n)
	}
	categories, err := tags.NewManager(rc).GetCategories(ctx)
	if err != nil {
		t.Errorf("categories %v, %v", categories, err)
	}
	if _, err := tags.NewManager(rc).GetAttachedTagsOnObjects(ctx, refs(vms(t, c.Client))); err != nil {
		t.Errorf("tags on objects: %v", err)
	}
	volumes, err := cns.NewClient(ctx, c.Client)
	if err == nil {
		_, err = volumes.QueryVolume(ctx, &cnstypes.CnsQueryFilter{})
	}
	if err != nil {
		t.Errorf("CNS: %v", err)
	}
	policies, err := pbm.NewClient(ctx, c.Client)
	if err == nil {
		_, err = policies.ProfileMap(ctx)
	}
	if err != nil {
		t.Errorf("PBM: %v", err)
	}
	counted := map[string]int64{}
	for _, st := range r.front.Gate().Stats() {
		if st.Client == "reader/1" {
			counted[st.Method] = st.Calls
		}
	}
	for _, method := range []string{"Login", "CnsQueryVolume", "PbmQueryProfile", "GET /rest/com/vmware/cis/tagging/category"} {
		if counted[method] == 0 {
			t.Errorf("%s is not counted: %v", method, counted)
		}
	}
	if err := rc.Logout(ctx); err != nil {
		t.Error(err)
	}
	if err := c.Logout(ctx); err != nil {
		t.Error(err)
	}
}

func refs(all []*object.VirtualMachine) (list []mo.Reference) {
	for _, vm := range all {
		list = append(list, vm)
	}
	return list
}

// TestLongPoll waits through the front for a change made at the vCenter.
func TestLongPoll(t *testing.T) {
	r := start(t, scope.Scope{})
	c, _ := r.client(t, "watcher")
	vm := vms(t, c.Client)[0]
	pc, err := property.DefaultCollector(c.Client).Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	filter := new(property.WaitFilter).Add(vm.Reference(), "VirtualMachine", []string{"runtime.powerState"})
	if _, err := pc.CreateFilter(t.Context(), filter.CreateFilter); err != nil {
		t.Fatal(err)
	}
	wait := func(version string) *types.UpdateSet {
		res, err := methods.WaitForUpdatesEx(t.Context(), c.Client, &types.WaitForUpdatesEx{This: pc.Reference(), Version: version})
		if err != nil {
			t.Fatal(err)
		}
		return res.Returnval
	}
	first := wait("")
	changed := make(chan error, 1)
	go func() {
		changed <- r.direct.Do(context.WithoutCancel(t.Context()), func(ctx context.Context, vim *vim25.Client) error {
			task, err := object.NewVirtualMachine(vim, vm.Reference()).PowerOff(ctx)
			if err == nil {
				err = task.Wait(ctx)
			}
			return err
		})
	}()
	second := wait(first.Version)
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	if got := second.FilterSet[0].ObjectSet[0].ChangeSet[0].Val; got != types.VirtualMachinePowerStatePoweredOff {
		t.Errorf("told %v", got)
	}
}

// TestBroken breaks the API for clients, while the console sees the vCenter.
func TestBroken(t *testing.T) {
	r := start(t, scope.Scope{})
	c, _ := r.client(t, "victim")
	ask := func() error {
		_, err := methods.GetCurrentTime(t.Context(), c.Client)
		return err
	}
	g := r.front.Gate()
	if err := g.Set(t.Context(), gate.Mode{State: gate.Slow, Delay: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := ask(); err != nil || time.Since(begin) < 300*time.Millisecond {
		t.Errorf("slow: %v after %s", err, time.Since(begin))
	}
	if err := g.Set(t.Context(), gate.Mode{State: gate.Down}); err != nil {
		t.Fatal(err)
	}
	_ = ask() // the connection is cut
	if err := ask(); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("down: %v", err)
	}
	conn, err := r.front.DialConsole(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if err := g.Set(t.Context(), gate.Mode{State: gate.Up}); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err != nil {
		t.Errorf("up again, same session: %v", err)
	}
	for _, tc := range []struct {
		name   string
		action gate.Action
		want   func(error) bool
	}{
		{"503", gate.HTTPStatus{Code: 503}, func(err error) bool { return strings.Contains(err.Error(), "503") }},
		{"fault", gate.Fault{Type: "NoPermission"}, func(err error) bool { return vimfault.Is(err, &types.NoPermission{}) }},
		{"session", gate.DropSession{After: 1}, func(err error) bool { return vimfault.Is(err, &types.NotAuthenticated{}) }},
	} {
		id, err := g.Add(gate.Rule{Name: tc.name, Match: gate.Match{Client: "victim", User: "adm*"}, Action: tc.action})
		if err != nil {
			t.Fatal(err)
		}
		var failed error
		for range 3 { // a session is good for one call
			if failed = property.DefaultCollector(c.Client).RetrieveOne(t.Context(), c.ServiceContent.RootFolder, []string{"name"}, new(mo.Folder)); failed != nil {
				break
			}
		}
		if failed == nil || !tc.want(failed) {
			t.Errorf("%s: %v", tc.name, failed)
		}
		if err := g.Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Login(t.Context(), r.user); err != nil {
		t.Errorf("a new login: %v", err)
	}
	if err := ask(); err != nil {
		t.Error(err)
	}
}

// TestAway is a vCenter that does not answer itself, or shows a certificate that is not to be trusted.
func TestAway(t *testing.T) {
	r := start(t, scope.Scope{})
	if res := get(t, r, "/sdk/vimServiceVersions.xml"); res.StatusCode != http.StatusOK {
		t.Errorf("status %d", res.StatusCode)
	}
	for _, tc := range []struct{ address, want string }{
		{"127.0.0.1:1", "refused"}, {r.direct.VCenter.Address(), "not trusted"},
	} {
		config, err := vcenter.FromEnvironment([]string{"GOVC_URL=" + tc.address, "GOVC_USERNAME=u", "GOVC_PASSWORD=p"})
		if err != nil {
			t.Fatal(err)
		}
		r.front = r.behind(t, config.VCenters[0])
		res := get(t, r, "/sdk/vimServiceVersions.xml")
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), tc.want) {
			t.Errorf("%s: status %d, %q, %v", tc.address, res.StatusCode, text, err)
		}
	}
}
