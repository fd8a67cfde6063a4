package provider

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// recorded is nodeEvents with a recorder.
type recorded struct {
	nodeEvents
	*record.FakeRecorder
}

func newRecorded() recorded {
	r := recorded{newNodeEvents(slog.New(slog.DiscardHandler)), record.NewFakeRecorder(100)}
	r.Attach(r.FakeRecorder)
	return r
}

// said returns the type and reason of each event since the last call.
func (r recorded) said() []string {
	var all []string
	for {
		select {
		case e := <-r.Events:
			words := strings.SplitN(e, " ", 3)
			all = append(all, words[0]+" "+words[1])
		default:
			return all
		}
	}
}

func (r recorded) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.said()); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

func TestNodeEventsOncePerChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorded()
		n, m := node("n1", "", u1), &cloudprovider.InstanceMetadata{}
		notFound := fmt.Errorf("system uuid: %w", match.ErrNotFound)
		r.metadata(n, m, nil)
		r.expect(t, "well from the start")
		for range 3 {
			r.metadata(n, nil, notFound)
			r.existence(n, false, "", notFound)
		}
		r.expect(t, "the same from both concerns, again and again", "Warning VMNotFound")
		r.metadata(n, nil, match.ErrAmbiguous)
		r.expect(t, "another reason", "Warning VMAmbiguous")
		r.metadata(n, nil, fmt.Errorf("read tcp 10.0.0.1:40000->10.0.0.2:443: %w", match.ErrAmbiguous))
		r.expect(t, "another message at once")
		time.Sleep(time.Minute)
		r.metadata(n, nil, fmt.Errorf("read tcp 10.0.0.1:40001->10.0.0.2:443: %w", match.ErrAmbiguous))
		r.expect(t, "another message later", "Warning VMAmbiguous")
		time.Sleep(time.Minute)
		r.metadata(n, nil, fmt.Errorf("read tcp 10.0.0.1:7->10.0.0.2:443: %w", match.ErrAmbiguous))
		r.expect(t, "the same from another port")
		r.existence(n, true, "", nil)
		r.expect(t, "there again, which the other concern had told")
		r.metadata(n, m, nil)
		r.expect(t, "known again", "Normal NodeWell")
		r.metadata(n, m, nil)
		r.expect(t, "well")
		if n := r.Remembered(); n != 0 {
			t.Errorf("remembered: %d", n)
		}
	})
}

func TestNodeEventsOfDeletion(t *testing.T) {
	r := newRecorded()
	n := node("n1", "vsphere://"+u1, "")
	held := fmt.Errorf("%w: %w: user \"x\": %w", ErrDeletionHeldBack, vcenter.ErrNotConnected, vcenter.ErrInvalidLogin)
	r.existence(n, false, "", held)
	r.expect(t, "held back", "Warning DeletionHeldBack")
	r.metadata(n, nil, vcenter.ErrNotConnected)
	r.expect(t, "a vcenter is out: not told of every node in service")
	r.metadata(uninitialized(node("n2", "", "")), nil, vcenter.ErrNotConnected)
	r.expect(t, "a vcenter is out: told of a node that waits for it", "Warning VCenterUnavailable")
	r.existence(n, false, "", nil)
	r.expect(t, "gone", "Normal VMGone")
	r.Forget(n)
	r.existence(node("n1", "vsphere://"+u1, ""), false, "", held)
	r.expect(t, "another node of that name", "Warning DeletionHeldBack")
}

// A node that runs on another VM than the one that is off gets one event about that, besides others.
func TestNodeEventsOfShutdown(t *testing.T) {
	r := newRecorded()
	n := node("n1", "vsphere://"+u1, u2)
	i := (&listIndex{vms: []*inventory.VM{vmOf(t, "one", u1, "", "", off), vmOf(t, "two", u2, "n1", "")}}).over("")
	for range 3 {
		exists, err := i.exists(t.Context(), n)
		r.existence(n, exists, "", err)
		_, err = i.shutdown(n)
		r.nodeEvents.shutdown(n, err)
	}
	r.expect(t, "off, and runs", "Warning StaleProviderID")
	r.nodeEvents.shutdown(n, nil)
	r.expect(t, "mended", "Normal NodeWell")

	x := &listIndex{vms: []*inventory.VM{vmOf(t, "one", u1, "", "", off)}, doubt: vcenter.ErrNotConnected}
	_, err := x.over("").shutdown(n)
	r.nodeEvents.shutdown(n, err)
	r.expect(t, "off, and may run elsewhere", "Warning VCenterUnavailable")
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	r.metadata(n, &cloudprovider.InstanceMetadata{}, nil)
	r.expect(t, "ready", "Normal NodeWell")
	x.vms = nil
	_, err = x.over("").shutdown(n)
	r.nodeEvents.shutdown(n, err)
	r.expect(t, "not found, which others tell")
}

// A missing tag is reported although the node is initialized.
func TestNodeEventsOfServedNode(t *testing.T) {
	r := newRecorded()
	n := node("n1", "vsphere://"+u1, "")
	missing := &inventory.MissingTagError{VM: &inventory.VM{}, Categories: []string{`"k8s-zone"`}, Visited: []string{`HostSystem "h"`}}
	r.existence(n, false, "", ErrDeletionHeldBack)
	r.metadata(n, &cloudprovider.InstanceMetadata{}, missing)
	r.expect(t, "found, without a tag", "Warning DeletionHeldBack", "Normal NodeWell", "Warning ZoneTagMissing")
}

// Without a recorder nothing is sent, and nothing counts as sent.
func TestNodeEventsDetached(t *testing.T) {
	r := newRecorded()
	r.Attach(nil)
	n := node("n1", "", "")
	r.metadata(n, nil, match.ErrNotFound)
	r.Attach(r.FakeRecorder)
	r.expect(t, "before")
	r.metadata(n, nil, match.ErrNotFound)
	r.expect(t, "after", "Warning VMNotFound")
	r.metadata(&corev1.Node{}, nil, match.ErrNotFound)
	r.expect(t, "a question about a VM alone")
}

type nothing struct{ record.EventRecorder }

func (nothing) Event(_ runtime.Object, _, _, _ string) {}

// A problem of a node is logged when it begins and when it ends, not at each call.
func TestNodeEventsLogOnce(t *testing.T) {
	var out strings.Builder
	e := newNodeEvents(slog.New(slog.NewTextHandler(&out, nil)))
	e.Attach(nothing{})
	n := node("n1", "", u1)
	for range 100 {
		e.metadata(n, nil, match.ErrNotFound)
	}
	for range 100 {
		e.metadata(n, &cloudprovider.InstanceMetadata{}, nil)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2 {
		t.Errorf("%d lines:\n%s", lines, out.String())
	}
}
