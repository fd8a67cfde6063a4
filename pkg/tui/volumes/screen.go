package volumes

import (
	"cmp"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
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
	return !slices.ContainsFunc(filter, func(w string) bool { return !strings.Contains(words, w) })
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

type keys struct {
	cursor                      table.Keys
	next, previous, sort        key.Binding
	chain, detach, outOfService key.Binding
}

func newKeys() keys {
	return keys{
		cursor: table.NewKeys(),
		next:   table.Bind("n", "next that waits", "n"), previous: table.Bind("N", "one before that waits", "N"),
		sort:         table.Bind("s", "sort by name or state", "s"),
		chain:        table.Bind("space/t", "newest event in the timeline", "space", "t"),
		detach:       table.Bind("d", "detach its disk in vSphere", "d"),
		outOfService: table.Bind("O", "its node out of service", "O"),
	}
}

// Bindings returns the keys of the volumes.
func (s *Screen) Bindings() []key.Binding {
	k := s.now()
	return append(k.cursor.Bindings(), k.next, k.previous, k.sort, k.chain, k.detach, k.outOfService)
}

// Writes returns the keys that change the sandbox.
func (s *Screen) Writes() []string { return []string{"d", "O"} }

// now returns the keys, with those disabled that have no effect.
func (s *Screen) now() keys {
	k := s.keys
	v, ok := s.current()
	k.cursor.SetEnabled(ok)
	k.sort.SetEnabled(ok)
	waits := s.waiting() > 0
	k.next.SetEnabled(waits)
	k.previous.SetEnabled(waits)
	k.chain.SetEnabled(ok)
	k.detach.SetEnabled(ok && v.VM != "" && v.Driver == csiDriver)
	node, ok := s.node(v)
	k.outOfService.SetEnabled(ok)
	if ok && glance.OutOfService(node.Taints) {
		k.outOfService.SetHelp("O", "its node back in service")
	}
	return k
}

// Handle handles the keys of [Screen.Bindings].
func (s *Screen) Handle(msg tea.KeyPressMsg) (intent.Intent, bool) {
	k := s.now()
	v, _ := s.current()
	switch {
	case k.cursor.Move(&s.table, msg):
	case key.Matches(msg, k.next):
		s.seek(1)
	case key.Matches(msg, k.previous):
		s.seek(-1)
	case key.Matches(msg, k.sort):
		s.byState = !s.byState
		s.list()
	case key.Matches(msg, k.chain):
		if e, ok := lastEvent(s.state, v); ok {
			return intent.Chain{Seq: e.Seq}, true
		}
		return intent.Say{Text: "no events about " + title(v)}, true
	case key.Matches(msg, k.detach):
		return intent.Prompt{Text: intent.Quote("volume", "detach", title(v))}, true
	case key.Matches(msg, k.outOfService):
		node, _ := s.node(v)
		return intent.OutOfService{OutOfServiceRequest: api.OutOfServiceRequest{Node: node.Name, Remove: glance.OutOfService(node.Taints)}}, true
	default:
		return nil, false
	}
	return nil, true
}

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
