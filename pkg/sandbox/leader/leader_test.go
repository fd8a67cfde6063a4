package leader

import (
	"context"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
)

// Each new holder of the Lease is an event, caused by what ended the leader before it. A renewal is none.
func TestFollow(t *testing.T) {
	client, log := fake.NewClientset(), event.NewLog(0)
	changed := make(chan string)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	lease := Lease{
		Client: client, Namespace: "ns", Name: "lease", Log: log, Causes: &causality.Finder{Log: log}, Event: "csi.leader-changed",
		Find: func(_ context.Context, holder string) string {
			name, _, ok := strings.Cut(holder, "_")
			if !ok {
				return ""
			}
			return name
		},
		Changed: func(replica string) { changed <- replica },
	}
	go func() { done <- lease.Follow(ctx) }()
	holds := func(holder string, renewed int) {
		t.Helper()
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lease"}, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, RenewTime: &metav1.MicroTime{Time: time.Unix(int64(renewed), 0)},
		}}
		leases := client.CoordinationV1().Leases("ns")
		_, err := leases.Update(ctx, l, metav1.UpdateOptions{})
		if err != nil {
			_, err = leases.Create(ctx, l, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	wants := func(replica, message string, cause uint64) {
		t.Helper()
		before := log.Last()
		if got := <-changed; got != replica {
			t.Fatalf("%q leads, want %q", got, replica)
		}
		events, _, err := log.Wait(ctx, before, 0)
		if err != nil || len(events) != 1 || events[0].Kind != lease.Event || events[0].Message != message || events[0].Cause != cause {
			t.Fatalf("%+v, %v", events, err)
		}
	}
	holds("a_1", 1)
	wants("a", "a leads", 0)
	holds("a_1", 2)
	killed := log.Append(event.Event{Kind: "child.killed", Object: event.Object{Kind: "Component", Name: "a"}})
	holds("a-2_1", 3)
	wants("a-2", "a-2 leads; before it was a", killed)
	holds("somewhere", 4)
	wants("", "somewhere leads; before it was a-2", 0)
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
