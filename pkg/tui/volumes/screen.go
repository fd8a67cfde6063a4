package volumes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Screen is the screen of volumes. Make it with [New].
type Screen struct {
	width, height int
	theme         *theme.Theme
	state         *fold.State
	table         table.Table
	keys          keys

	version uint64 // of the rows, plus one
	all     []api.Volume
	shown   []api.Volume
	at      map[string]int // indexes in shown, by key
	filter  string
	byState bool

	// hops are the path of the selected volume, from the state of hopsOf.
	hops   []hop
	hopsOf hopsOf
}

// hopsOf identifies the data of a chain.
type hopsOf struct {
	volume  string
	version uint64
}

// New returns a screen without volumes: it needs a size, a theme and a state.
func New() *Screen {
	return &Screen{theme: theme.Mono(), keys: newKeys(), at: map[string]int{}}
}

// SetTheme sets its theme.
func (s *Screen) SetTheme(t *theme.Theme) {
	s.theme = t
	s.table.SetTheme(t)
}

// SetState applies the changes of the state.
func (s *Screen) SetState(state *fold.State) {
	s.state = state
	if v := state.Version(world.Volume) + 1; v != s.version {
		s.version = v
		s.all = world.Values[api.Volume](state.World(), world.Volume)
		s.list()
	}
}

// SetFilter shows only the volumes with all words in names, states and what they wait for.
func (s *Screen) SetFilter(filter string) {
	if filter != s.filter {
		s.filter = filter
		s.list()
	}
}

// list makes the rows of the table.
func (s *Screen) list() {
	s.shown = s.shown[:0]
	filter := strings.Fields(strings.ToLower(s.filter))
	for _, v := range s.all {
		if found(v, filter) {
			s.shown = append(s.shown, v)
		}
	}
	slices.SortStableFunc(s.shown, func(a, b api.Volume) int {
		if s.byState {
			if by := cmp.Or(int(urgency(b)-urgency(a)), cmp.Compare(a.State, b.State)); by != 0 {
				return by
			}
		}
		return cmp.Compare(title(a), title(b))
	})
	rows := make([]table.Row, len(s.shown))
	s.at = make(map[string]int, len(rows))
	for i, v := range s.shown {
		rows[i] = table.Row{Key: rowKey(v), Cells: func() []table.Cell { return s.cells(v) }}
		s.at[rows[i].Key] = i
	}
	s.table.Empty = "No volumes. A PersistentVolumeClaim creates one."
	if len(s.all) > 0 {
		s.table.Empty = "No volume matches “" + text.Clean(s.filter) + "”."
	}
	s.table.SetRows(rows)
	s.SetSize(s.width, s.height) // the chain takes what they leave
}

// rowKey keeps the cursor on a claim when it gets its PersistentVolume, which becomes the key of the row.
func rowKey(v api.Volume) string { return cmp.Or(v.Claim, v.Name) + "\x00" + byClaim(v) }

// byClaim distinguishes released volumes of one claim.
func byClaim(v api.Volume) string {
	if v.State == api.VolumeReleased || v.State == api.VolumeOrphaned {
		return v.Name
	}
	return ""
}

// title returns the display name of a volume.
func title(v api.Volume) string { return cmp.Or(v.Claim, v.Name) }

// urgency returns how much attention a volume needs.
func urgency(v api.Volume) glance.Level {
	level := glance.Volume(v.State).Level
	if v.Waits != "" {
		level = max(level, glance.Warn)
	}
	return level
}

func found(v api.Volume, filter []string) bool {
	if len(filter) == 0 {
		return true
	}
	words := strings.ToLower(strings.Join(append([]string{
		v.Claim, v.Name, v.Handle, string(v.State), v.Phase, v.Datastore, v.VCenter, v.VM, v.Node, v.StorageClass, v.Waits,
	}, v.Pods...), " "))
	for _, w := range filter {
		if !strings.Contains(words, w) {
			return false
		}
	}
	return true
}

// current returns the volume with the cursor.
func (s *Screen) current() (api.Volume, bool) {
	k, ok := s.table.Key()
	if !ok {
		return api.Volume{}, false
	}
	i, ok := s.at[k]
	if !ok {
		return api.Volume{}, false
	}
	return s.shown[i], true
}

// chain returns the path of the volume with the cursor.
func (s *Screen) chain(v api.Volume) []hop {
	of := hopsOf{v.Name, s.state.Version(world.Volume, world.Attachment, world.VM, world.Node, world.Event)}
	if of != s.hopsOf || s.hops == nil {
		s.hopsOf, s.hops = of, chain(s.state, v)
	}
	return s.hops
}
