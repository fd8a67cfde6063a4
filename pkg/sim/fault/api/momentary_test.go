package api

import (
	"net"
	"testing"

	"github.com/vmware/govmomi/event"
	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
)

// A restart refuses connections, ends sessions, and leaves the inventory.
func TestRestart(t *testing.T) {
	w := faulttest.Start(t, source)
	c, elsewhere := logged(t, w, "us", agentCCM), logged(t, w, "eu", agentCCM)
	v, _ := w.VCenter("us")
	vms := v.VMs()
	ended := make(chan error, 1)
	go func() {
		_, err := w.Engine(t, Kinds()).Inject(t.Context(), fault.Request{
			Kind: "vcenter.restart", On: faulttest.On("us"), Params: set{"downtime": "5s"}, // half a second here
		})
		ended <- err
	}()
	for refused := false; !refused; {
		select {
		case err := <-ended:
			t.Fatalf("it ended (%v), and was never away", err)
		default:
		}
		conn, err := net.Dial("tcp", v.Addr())
		if refused = err != nil; !refused {
			_ = conn.Close()
		}
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := c.askSOAP(t.Context(), "us"); !vimfault.Is(err, &types.NotAuthenticated{}) {
		t.Errorf("a session from before: %v", err)
	}
	if err := c.askREST(t.Context()); err == nil || !says("401")(err) {
		t.Errorf("a session of REST from before: %v", err)
	}
	if err := elsewhere.ask(t.Context(), "eu"); err != nil {
		t.Errorf("the other vCenter: %v", err)
	}
	if err := call(t.Context(), w, "us", agentCCM); err != nil || v.VMs() != vms || len(v.Gate().Rules()) > 0 {
		t.Errorf("after it: %v, %d VMs", err, v.VMs())
	}
	if n := len(w.EventsOf("vcenter.restarted")); n != 1 {
		t.Errorf("%d events", n)
	}
}

// Only the selected sessions end.
func TestSessionExpired(t *testing.T) {
	w := faulttest.Start(t, source)
	c, other := logged(t, w, "us", agentUpstream), logged(t, w, "us", agentGovc)
	expire := func(params set) {
		t.Helper()
		lease := w.Inject(t, Kinds(), fault.Request{Kind: "vcenter.session-expired", On: faulttest.On("us"), Params: params})
		if lease.State != fault.Healed {
			t.Errorf("lease %+v", lease)
		}
	}
	expire(set{"client": "ccm", "transport": "soap"})
	if err := c.askSOAP(t.Context(), "us"); !vimfault.Is(err, &types.NotAuthenticated{}) {
		t.Errorf("SOAP: %v", err)
	}
	if err := c.askREST(t.Context()); err != nil {
		t.Errorf("REST was spared: %v", err)
	}
	expire(set{"client": "ccm"})
	if err := c.askREST(t.Context()); err == nil || !says("401")(err) {
		t.Errorf("REST: %v", err)
	}
	if err := other.ask(t.Context(), "us"); err != nil {
		t.Errorf("somebody else: %v", err)
	}
	if r := w.Refused(t, Kinds(), fault.Request{Kind: "vcenter.session-expired", On: faulttest.On("us"), Params: set{"client": "ccm"}}); r.Code != "conflict" {
		t.Errorf("nobody is left: %+v", r)
	}
	expire(set{"account": "administrator@*"})
	if err := other.askSOAP(t.Context(), "us"); !vimfault.Is(err, &types.NotAuthenticated{}) {
		t.Errorf("by account: %v", err)
	}
	if err := call(t.Context(), w, "us", agentCCM); err != nil {
		t.Errorf("a new login: %v", err)
	}
}

func TestEventBurst(t *testing.T) {
	w := faulttest.Start(t, source)
	c := logged(t, w, "us", agentGovc)
	w.Inject(t, Kinds(), fault.Request{Kind: "vcenter.event-burst", On: faulttest.On("us"), Params: set{"events": "50", "message": "alarm"}})
	history, err := event.NewManager(c.Client.Client).CreateCollectorForEvents(t.Context(), types.EventFilterSpec{EventTypeId: []string{"GeneralUserEvent"}})
	if err != nil {
		t.Fatal(err)
	}
	posted, err := history.ReadPreviousEvents(t.Context(), 100)
	if err != nil || len(posted) < 50 {
		t.Errorf("%v, %d events", err, len(posted))
	}
}
