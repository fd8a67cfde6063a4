package corrections

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Collectors of events come, change and go while events are posted.
func TestEventCollectorsWhileEventsHappen(t *testing.T) {
	v := start(t)
	root := v.client.ServiceContent.RootFolder
	done := make(chan struct{})
	var posting sync.WaitGroup
	posting.Go(func() {
		ctx := vc.Fresh(v.base)
		ctx.Session = new(simulator.Session)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				vc.Post(ctx, &types.EventEx{
					EventTypeId: "test", Message: fmt.Sprint(i), ObjectType: root.Type, ObjectId: root.Value,
				})
			}
		}
	})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for range 50 {
				ref, err := v.eventCollector()
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := methods.SetCollectorPageSize(t.Context(), v.client, &types.SetCollectorPageSize{This: ref, MaxCount: 1}); err != nil {
					t.Error(err)
				}
				if _, err := methods.DestroyCollector(t.Context(), v.client, &types.DestroyCollector{This: ref}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	close(done)
	posting.Wait()
}

// An event of an extension needs no object; its collector shows it.
func TestEventsWithoutObject(t *testing.T) {
	v := start(t)
	post := func(kind, value string) error {
		_, err := methods.PostEvent(t.Context(), v.client, &types.PostEvent{
			This:        *v.client.ServiceContent.EventManager,
			EventToPost: &types.EventEx{Event: types.Event{CreatedTime: time.Now()}, EventTypeId: "test", ObjectType: kind, ObjectId: value},
		})
		return err
	}
	for _, object := range [][2]string{{"", ""}, {"Tag", "42"}, {"VirtualMachine", "vm-gone"}} {
		if err := post(object[0], object[1]); err != nil {
			t.Errorf("%v: %v", object, err)
		}
	}
	all, err := v.events()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range all {
		if e, ok := e.(*types.EventEx); ok && e.EventTypeId == "test" {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d events", n)
	}
}
