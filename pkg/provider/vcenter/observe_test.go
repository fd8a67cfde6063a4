package vcenter_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// calls collects the calls of OnCall.
type calls struct {
	mu  sync.Mutex
	all []vcenter.Call
}

func (c *calls) add(call vcenter.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, call)
}

// count counts the calls of a method with a result.
func (c *calls) count(method, result string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.all {
		if call.Method == method && call.Result == result {
			n++
		}
	}
	return n
}

// Every call is reported, with the same names and numbers as in the vCenter's own front.
func TestOnCall(t *testing.T) {
	v := start(t)
	reported := &calls{}
	cfg := v.config()
	cfg.OnCall = reported.add
	c, stop := run(t, cfg)
	r := watch(t, c)
	eventually(t, "in sync", r.when(func() bool { return r.synced }))
	err := c.DoREST(t.Context(), func(ctx context.Context, rc *rest.Client) error {
		m := tags.NewManager(rc)
		ids, err := m.ListCategories(ctx)
		if err != nil {
			return err
		}
		if _, err := m.GetCategory(ctx, ids[0]); err != nil {
			return err
		}
		list, err := m.ListTagsForCategory(ctx, ids[0])
		if err != nil {
			return err
		}
		if _, err := m.ListAttachedObjectsOnTags(ctx, list); err != nil {
			return err
		}
		_, err = m.GetTag(ctx, "urn:vmomi:InventoryServiceTag:none:GLOBAL")
		return err
	})
	if !vcenter.NotFound(err) {
		t.Errorf("error %v, want not found", err)
	}
	err = c.Do(t.Context(), func(ctx context.Context, s *vcenter.Session) error {
		_, err := methods.PowerOnVM_Task(ctx, s.Vim, &types.PowerOnVM_Task{This: types.ManagedObjectReference{Type: "VirtualMachine", Value: "none"}})
		return err
	})
	if !vcenter.Gone(err) {
		t.Errorf("error %v, want gone", err)
	}
	stop()
	for _, want := range []struct{ method, result string }{
		{"RetrieveServiceContent", "ok"},
		{"Login", "ok"},
		{"Logout", "ok"},
		{"CreateContainerView", "ok"},
		{"PowerOnVM_Task", "error"},
		{"POST /com/vmware/cis/session", "ok"},
		{"DELETE /com/vmware/cis/session", "ok"},
		{"GET /com/vmware/cis/tagging/category", "ok"},
		{"POST /com/vmware/cis/tagging/tag?~action=list-tags-for-category", "ok"},
		{"POST /com/vmware/cis/tagging/tag-association?~action=list-attached-objects-on-tags", "ok"},
		{"GET /com/vmware/cis/tagging/tag", "error"},
	} {
		if reported.count(want.method, want.result) == 0 {
			t.Errorf("no call %s, %s", want.method, want.result)
		}
	}
	if reported.count("WaitForUpdatesEx", "ok") == 0 {
		t.Error("no poll")
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, s := range v.Gate().Stats() {
				t.Log(s.Client, s.Method, s.Calls)
			}
			t.Log(reported.all)
		}
	})
	// The watch ends after the client: its poll is reported by its own goroutine.
	eventually(t, "each call is reported once", func() bool {
		reported.mu.Lock()
		defer reported.mu.Unlock()
		seen, broken := int64(len(reported.all)), int64(0)
		for _, call := range reported.all {
			if call.Result == "canceled" { // perhaps before it was sent
				broken++
			}
		}
		var passed int64
		for _, s := range v.Gate().Stats() {
			if s.Client == agent {
				passed += s.Calls
			}
		}
		return passed <= seen && passed >= seen-broken
	})
	reported.mu.Lock()
	defer reported.mu.Unlock()
	for _, call := range reported.all {
		if strings.Contains(call.Method, "urn:") || call.Duration <= 0 {
			t.Errorf("call %+v", call)
		}
	}
}

func TestOnCallOutcome(t *testing.T) {
	for _, tc := range []struct {
		action       gate.Action
		soap, byREST string
	}{
		{gate.HTTPStatus{Code: 503}, "unreachable", "unreachable"},
		{gate.HTTPStatus{Code: 403}, "unreachable", "error"}, // 403 is not a SOAP response
		{gate.Outage{}, "unreachable", "unreachable"},
		{gate.Hang{}, "timeout", "timeout"},
	} {
		v := start(t)
		reported := &calls{}
		cfg := v.config()
		cfg.OnCall, cfg.CallTimeout = reported.add, shortCall
		c, _ := run(t, cfg)
		connect(t, c)
		v.rule(t, gate.Rule{Match: gate.Match{Methods: []string{"CurrentTime", "GET *"}}, Action: tc.action})
		_ = categories(c, t.Context())
		_ = now(c, t.Context())
		if reported.count("GET /com/vmware/cis/tagging/category", tc.byREST) == 0 || reported.count("CurrentTime", tc.soap) == 0 {
			t.Errorf("%#v: %+v", tc.action, reported.all)
		}
		connect(t, c)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = now(c, ctx)
		if reported.count("CurrentTime", "canceled") == 0 {
			t.Errorf("%+v", reported.all)
		}
	}
}
