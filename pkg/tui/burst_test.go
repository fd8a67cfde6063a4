package tui

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// burst returns a func whose result is a frame's worth of n events a second and as many changed nodes, different at each call.
func burst(s *fold.State, perSecond int) func() []api.Update {
	seq := s.World().LastEvent()
	nodes := world.Values[api.Node](s.World(), world.Node)
	at := 0
	return func() []api.Update {
		var all []api.Update
		for range max(1, perSecond/30) {
			seq++
			n := nodes[at%len(nodes)]
			at++
			n.Ready = []string{"True", "Unknown"}[at/len(nodes)%2]
			all = append(all,
				api.Update{Event: &event.Event{
					Seq: seq, Time: s.Now(), Plane: event.PlaneKubernetes, Level: event.Info, Kind: "node.ready",
					Object: event.Object{Kind: "Node", Name: n.Name}, Message: fmt.Sprintf("Ready=%s", n.Ready), Cause: seq - 1,
				}},
				api.Update{Node: &n})
		}
		return all
	}
}
