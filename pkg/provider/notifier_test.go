package provider

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// A vCenter that comes and goes does not suppress events about the configuration on the same Secret, and events are not
// aggregated.
func TestEventsAreNotHeldBack(t *testing.T) {
	c := record.NewEventCorrelatorWithOptions(correlatorOptions())
	send := func(reason, message string) {
		t.Helper()
		e := &corev1.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message}
		e.InvolvedObject = corev1.ObjectReference{Kind: "Secret", Namespace: "kube-system", Name: "creds"}
		got, err := c.EventCorrelate(e)
		if err != nil || got.Skip || got.Event.Message != message {
			t.Fatalf("%s: %+v, %v", message, got, err)
		}
		c.UpdateState(got.Event)
	}
	for i := range 90 {
		send(ReasonUnreachable, fmt.Sprintf("vCenter %d: out", i))
		send(ReasonConnected, "vCenter eu: connected")
	}
	send(ReasonConfigNeedsRestart, "takes effect at the next start")
}

func errPost(why string) error {
	return &url.Error{Op: "Post", URL: "https://127.0.0.12:8989/sdk", Err: errors.New(why)}
}

// Messages contain the problem, the reason and what to do on one line, once each.
func TestMessages(t *testing.T) {
	refused := fmt.Errorf("check session: %w", errPost("dial tcp 127.0.0.12:8989: connect: connection refused"))
	out := fmt.Errorf("vcenter %q: %w: %w", "eu", vcenter.ErrNotConnected, refused)
	search := fmt.Errorf("providerID vsphere://%s: %w, but not every vcenter could be asked: %w", u1, match.ErrNotFound, out)
	confirm := fmt.Errorf("cannot confirm that vm %s is gone: ", u1)
	held := func(err error) error { return fmt.Errorf("node %q: %w: %w", "n1", ErrDeletionHeldBack, err) }
	missing := &inventory.MissingTagError{
		VM: &inventory.VM{Name: "w1", VCenter: "us"}, Categories: []string{`"k8s-zone"`},
		Visited: []string{`HostSystem "h1"`, `Datacenter "west"`, `Folder "group-d1"`},
		Tags:    []string{`"us" (k8s-region) on Folder "group-d1"`},
	}
	served, fresh := node("n1", "vsphere://"+u1, ""), uninitialized(node("n1", "", ""))
	for _, tc := range []struct {
		name   string
		fresh  bool
		err    error
		reason string
		want   string
	}{
		{
			"off or gone, while its vcenter is out", false, held(search), ReasonVCenterUnavailable,
			"providerID vsphere://" + u1 + `: vm not found, but not every vcenter could be asked: vcenter "eu": not connected: check session: ` +
				"dial tcp 127.0.0.12:8989: connect: connection refused; check that the vcenter is up and reachable from here; the node stays as it is until then",
		},
		{
			"kept by configuration, while its vcenter is out", false, fmt.Errorf("%w: %w", ErrDeletionSkipped, search), ReasonVCenterUnavailable,
			"SKIP_NODE_DELETION keeps the node: providerID vsphere://" + u1 + `: vm not found, but not every vcenter could be asked: vcenter "eu": not connected: check session: ` +
				"dial tcp 127.0.0.12:8989: connect: connection refused; check that the vcenter is up and reachable from here; the node stays as it is until then",
		},
		{
			"waits", true, fmt.Errorf("node %q: %w", "n1", errors.Join(out, fmt.Errorf("vcenter %q: %w: %w", "us", vcenter.ErrNotConnected, vcenter.ErrNoCredentials))),
			ReasonVCenterUnavailable,
			`vcenter "eu": not connected: check session: dial tcp 127.0.0.12:8989: connect: connection refused; vcenter "us": not connected: no credentials; ` +
				"put user and password in the Secret, directory or file that the configuration names; the node waits for it",
		},
		{
			"a question is not answered", false, held(fmt.Errorf("%w%w", confirm, fmt.Errorf("vcenter %q: search: %w", "eu", errPost("context deadline exceeded")))),
			ReasonDeletionHeldBack,
			"cannot confirm that vm " + u1 + ` is gone: vcenter "eu": search: no answer before the timeout; ` +
				"check that the vcenter is up and reachable from here; the node stays; delete it if you know that its vm is gone",
		},
		{
			"another port of our own each time", false, held(fmt.Errorf("%w%w", confirm, errPost("read tcp 10.0.0.1:40000->10.0.0.2:443: connection reset by peer"))),
			ReasonDeletionHeldBack,
			"cannot confirm that vm " + u1 + " is gone: read tcp 10.0.0.1->10.0.0.2:443: connection reset by peer; " +
				"check that the vcenter is up and reachable from here; the node stays; delete it if you know that its vm is gone",
		},
		{
			"the root folder", true, fmt.Errorf("node %q: %w", "n1", missing), ReasonZoneTagMissing,
			`vm ` + missing.VM.String() + `: no tag of category "k8s-zone" on any of HostSystem "h1", Datacenter "west", the root folder; ` +
				`found "us" (k8s-region) on the root folder; attach a tag of each category to one of these objects, or remove the labels from the configuration`,
		},
	} {
		n := served
		if tc.fresh {
			n = fresh
		}
		if got := message(n, tc.err); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		}
		if got := reasonOf(tc.err); got != tc.reason {
			t.Errorf("%s: reason %s, want %s", tc.name, got, tc.reason)
		}
	}
}

// An event about a vCenter contains its name once, at the beginning.
func TestVCenterMessages(t *testing.T) {
	vc := config.VCenter{Tenant: "eu", Server: "127.0.0.12"}
	const begin = "vCenter eu (127.0.0.12): "
	for _, tc := range []struct {
		s            vcenter.State
		reason, want string
	}{
		{vcenter.State{Connected: true}, ReasonConnected, "connected"},
		{
			vcenter.State{Err: fmt.Errorf("check session: %w", errPost("dial tcp 127.0.0.12:8989: connect: connection refused"))},
			ReasonUnreachable,
			"check session: dial tcp 127.0.0.12:8989: connect: connection refused; check that the vcenter is up and reachable from here",
		},
		{
			vcenter.State{Err: &url.Error{Op: "Post", URL: "https://x/sdk", Err: fmt.Errorf("%w: issued by %q", vcenter.ErrCertificate, "me")}},
			ReasonUnreachable,
			`certificate is not trusted: issued by "me"; configure the certificate's authority, or its thumbprint`,
		},
		{
			vcenter.State{Connected: true, Err: fmt.Errorf("log in: user %q: %w", "ccm", vcenter.ErrInvalidLogin)},
			ReasonLoginFailed,
			`log in: user "ccm": login refused: wrong user name or password; the session made with the previous credentials stays in use; correct user and password, or unlock the account`,
		},
		{vcenter.State{Err: errors.New("ServerFaultCode: The server.\nis tired.")}, ReasonUnreachable, "The server; is tired"},
	} {
		if _, reason, got := describe(vc, tc.s); got != begin+tc.want || reason != tc.reason {
			t.Errorf("%s, want %s:\n got %s\nwant %s", reason, tc.reason, got, begin+tc.want)
		}
	}
}

// A real outage is reported once.
func TestOutageIsReportedInOneSentence(t *testing.T) {
	w := startWith(t, setup{gates: func(w *world) { w.gate(t, "eu", gate.Down) }})
	n := node("eu1", "vsphere://"+eu1UUID, eu1UUID)
	if exists, err := w.InstanceExists(t.Context(), n); exists || err == nil {
		t.Fatalf("exists %v, %v", exists, err)
	}
	w.expectEvent(t, "eu1", ReasonVCenterUnavailable, `vcenter "eu": not connected: `, "connection refused; check that", "the node stays")
	eventually(t, "an event about the vcenter", func() error {
		if len(w.events(t, ReasonUnreachable)) == 0 {
			return errors.New("none")
		}
		return nil
	})
	for _, e := range w.events(t, "") {
		if strings.Count(strings.ToLower(e.Message), "vcenter eu")+strings.Count(e.Message, `vcenter "eu"`) > 1 || strings.Contains(e.Message, "Post") {
			t.Errorf("%s: %s", e.Reason, e.Message)
		}
	}
}
