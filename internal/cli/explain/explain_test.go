package explain

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func world() clitest.World {
	w := clitest.ZonesUSEU()
	add := func(kind, object, name string) {
		w.Events = append(w.Events, api.EventLine{Event: event.Event{
			Seq: w.Events[len(w.Events)-1].Seq + 1, Time: clitest.Now, Kind: kind, Object: event.Object{Kind: object, Name: name}, Message: kind,
		}})
	}
	add("volume.created", "Volume", "pvc-1")
	add("volume.created", "Volume", "pvc-2")
	add("attachment.attached", "VolumeAttachment", "pvc-1 at worker-1.example")
	add("attachment.attached", "VolumeAttachment", "pvc-12 at worker-1.example")
	add("pod.running", "Pod", "default/db-0")
	add("claim.bound", "PersistentVolumeClaim", "default/data")
	return w
}

func TestVolume(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, world()))
	if r := e.Run(t.Context(), NewCmdExplain(e.Deps), "volume", "data"); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	clitest.Golden(t, "volume", e.Out.String())

	e = clitest.NewEnv(clitest.Serve(t, world()))
	if r := e.Run(t.Context(), NewCmdExplain(e.Deps), "volume", "default/data", "-o", "json"); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	var got Explanation
	if err := json.Unmarshal([]byte(e.Out.String()), &got); err != nil || got.Volume.Name != "pvc-1" || len(got.Events) != 4 {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestUnknown(t *testing.T) {
	for args, want := range map[string]int{"volume dta": report.Failure, "volume": report.Usage, "volum data": report.Usage} {
		e := clitest.NewEnv(clitest.Serve(t, world()))
		if r := e.Run(t.Context(), NewCmdExplain(e.Deps), strings.Fields(args)...); r.Exit != want {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

// What an event of the volume comes from is told with it, whatever it is about.
func TestHistory(t *testing.T) {
	all := []event.Event{
		{Seq: 1, Kind: "vm.powered-off", Object: event.Object{Kind: "VM", Name: "worker-1"}},
		{Seq: 2, Kind: "node.tainted", Object: event.Object{Kind: "Node", Name: "worker-1"}, Cause: 1},
		{Seq: 3, Kind: "node.tainted", Object: event.Object{Kind: "Node", Name: "worker-2"}},
		{Seq: 4, Kind: "pod.terminating", Object: event.Object{Kind: "Pod", Name: "default/gone"}, Cause: 2},
		{Seq: 5, Kind: "attachment.detaching", Object: event.Object{Kind: "VolumeAttachment", Name: "pvc-1 at worker-1"}, Cause: 4},
		{Seq: 6, Kind: "volume.failed-delete", Object: event.Object{Kind: "PersistentVolume", Name: "pvc-1"}},
	}
	var got []uint64
	for _, e := range history(api.Volume{Name: "pvc-1"}, all) {
		got = append(got, e.Seq)
	}
	if want := []uint64{1, 2, 4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
