package volumes

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// waiting counts the waiting volumes.
func (s *Screen) waiting() (n int) {
	for _, v := range s.shown {
		if urgency(v) >= glance.Warn {
			n++
		}
	}
	return n
}

// node returns the node of a volume, or the one that it is wanted on.
func (s *Screen) node(v api.Volume) (api.Node, bool) {
	if v.Node == "" || s.state == nil {
		return api.Node{}, false
	}
	row, _ := s.state.World().Row(world.Node, v.Node)
	n, _ := row.Value.(api.Node)
	return n, n.Registered
}

// seek moves the cursor to the next volume that waits, and after the last to the first.
func (s *Screen) seek(step int) {
	k, _ := s.table.Key()
	at, n := s.at[k], len(s.shown)
	for i := 1; i <= n; i++ {
		v := s.shown[((at+i*step)%n+n)%n]
		if urgency(v) >= glance.Warn {
			s.table.Choose(rowKey(v))
			return
		}
	}
}

// Subject returns the volume with the cursor.
func (s *Screen) Subject() (api.Subject, bool) {
	v, ok := s.current()
	return api.Subject{Kind: "volume", VCenter: v.VCenter, Name: title(v)}, ok
}

// Choose moves the cursor to a volume, by its claim, its PersistentVolume or its id in CNS.
func (s *Screen) Choose(subject api.Subject) bool {
	if subject.Kind != "volume" || subject.Name == "" {
		return false
	}
	for _, v := range s.shown {
		switch subject.Name {
		case v.Claim, v.Name, v.Handle:
			return s.table.Choose(rowKey(v))
		}
	}
	return false
}

// Click moves the cursor to a row.
func (s *Screen) Click(_, y int) (intent.Intent, bool) {
	return nil, y >= 1 && y < s.height-s.below() && s.table.Click(y-1)
}

// Wheel moves the cursor.
func (s *Screen) Wheel(lines int) { s.table.Move(lines) }
