package glance

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Node returns whether a node is registered and ready.
func Node(n api.Node) Mark {
	switch {
	case !n.Registered:
		return plain("not registered")
	case n.Ready == "True" && !n.Initialized:
		return warn("uninitialized")
	case n.Ready == "True":
		return good("Ready")
	case n.Ready == "False":
		return bad("NotReady")
	case n.Ready == "Unknown":
		return Mark{theme.GlyphUnknown, "Unknown", Bad}
	}
	return warn("no status")
}

// Volume returns the state of a volume between its claim and a running pod.
func Volume(s api.VolumeState) Mark {
	switch s {
	case api.VolumeInUse, api.VolumeAttached:
		return good(string(s))
	case api.VolumePending, api.VolumeAttaching, api.VolumeDetaching:
		return warn(string(s))
	case api.VolumeBlocked, api.VolumeLost:
		return bad(string(s))
	case api.VolumeOrphaned:
		return doubt(string(s))
	case api.VolumeDetached, api.VolumeReleased:
		return plain(string(s))
	}
	return doubt(orUnknown(string(s)))
}

// Power returns whether a VM is on. A VM that is off is as serious as its role: the VM of a node needs attention.
func Power(v api.VM) Mark {
	switch v.Power {
	case "on":
		return good("on")
	case "suspended":
		return warn("suspended")
	case "off":
		m := plain("off")
		if v.Role != "" {
			m.Level = Warn
		}
		return m
	}
	return doubt(orUnknown(v.Power))
}

// Machine returns the power state of a VirtualMachine of the Supervisor, what is changing, or what it lacks.
func Machine(m api.VirtualMachine) Mark {
	power := text.Clean(m.PowerChange())
	switch lacks := m.Lacks(); {
	case m.Deleting:
		return warn(power + ", deleting")
	case m.Changing():
		return warn(power)
	case lacks != "":
		return warn(power + ", " + text.Clean(lacks))
	case m.Power == "":
		return doubt(power)
	case m.Power == "PoweredOn":
		return good(power)
	}
	return plain(power)
}

// Connection returns whether a vCenter reaches a VM or a host, in vSphere's words.
func Connection(state string) Mark {
	switch state {
	case "connected":
		return good(state)
	case "":
		return doubt("unknown")
	}
	return bad(text.Clean(state))
}

// Tools returns whether the tools of a VM's guest run. A VM that is off needs none.
func Tools(v api.VM) Mark {
	switch {
	case v.Tools:
		return good("tools")
	case v.Power == "on":
		return warn("no tools")
	}
	return plain("no tools")
}

// Process returns the state of the kubelet in the guest of a VM; empty for a VM without a node.
func Process(v api.VM) Mark {
	switch v.Process {
	case "":
		return Mark{}
	case "running":
		return good(v.Process)
	case "hung":
		return bad(v.Process)
	case "stopped":
		if v.Power != "on" {
			return plain(v.Process)
		}
	}
	return warn(text.Clean(v.Process))
}

// Gate returns how a vCenter answers clients.
func Gate(v api.VCenter) Mark {
	switch v.Gate {
	case "up":
		return good("up")
	case "slow":
		return warn("slow")
	case "":
		return doubt("unknown")
	}
	return bad(text.Clean(v.Gate))
}

// orUnknown returns a mark for an unexpected word.
func orUnknown(s string) string { return cmp.Or(text.Clean(s), "unknown") }

// Taint is a taint of a node, parsed from key[=value]:effect.
type Taint struct {
	Key, Value, Effect string
}

// ParseTaint parses a taint of a node's row.
func ParseTaint(s string) Taint {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		i = len(s)
	}
	key, value, _ := strings.Cut(s[:i], "=")
	return Taint{key, value, strings.TrimPrefix(s[i:], ":")}
}

// Name returns the key without its domain: shutdown, unreachable, uninitialized.
func (t Taint) Name() string { return t.Key[strings.LastIndexByte(t.Key, '/')+1:] }

// Level returns the severity: taints of the control plane and of light nodes are normal, and NoExecute evicts pods.
func (t Taint) Level() Level {
	switch {
	case strings.HasPrefix(t.Key, "node-role."), t.Key == feed.LightKey:
		return Plain
	case t.Effect == "NoExecute":
		return Bad
	}
	return Warn
}

// Taints returns the taints of a node in short, one for each key with its strongest effect, the worst first. effects adds the
// effects of those that evict. The level is that of the worst.
func Taints(all []string, effects bool) (text string, level Level) {
	if len(all) == 0 {
		return "", Plain
	}
	taints := make([]Taint, 0, len(all))
	for _, s := range all {
		t := ParseTaint(s)
		i := slices.IndexFunc(taints, func(other Taint) bool { return other.Key == t.Key })
		switch {
		case i < 0:
			taints = append(taints, t)
		case taints[i].Level() < t.Level():
			taints[i] = t
		}
	}
	slices.SortStableFunc(taints, func(a, b Taint) int {
		return cmp.Or(rank(a)-rank(b), int(b.Level()-a.Level()))
	})
	var b strings.Builder
	for i, t := range taints {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.Name())
		if effects && t.Effect == "NoExecute" {
			b.WriteString(":" + t.Effect)
		}
		level = max(level, t.Level())
	}
	return b.String(), level
}

// rank sorts taints caused by vSphere first.
func rank(t Taint) int {
	switch {
	case strings.HasPrefix(t.Key, "node.cloudprovider."):
		return 0
	case t.Name() == "out-of-service":
		return 1
	case t.Level() == Plain:
		return 3
	}
	return 2
}

// OutOfService reports whether a taint marks the node as out of service.
func OutOfService(taints []string) bool {
	return slices.ContainsFunc(taints, func(s string) bool { return ParseTaint(s).Key == "node.kubernetes.io/out-of-service" })
}

// Level is a severity.
type Level int

// The levels; the highest one wins.
const (
	Plain Level = iota // neither good nor bad: absent, not requested
	Good               // healthy
	Warn               // in transition, or in need of attention
	Bad                // broken
)

// Mark is a state as a glyph and a word. The zero value is empty.
type Mark struct {
	Glyph, Word string
	Level       Level
}

// String returns the glyph and the word.
func (m Mark) String() string {
	if m.Glyph == "" {
		return m.Word
	}
	return m.Glyph + " " + m.Word
}

// Style returns the style of the mark's level.
func (m Mark) Style(t *theme.Theme) theme.Style { return m.Level.Style(t) }

// Style returns the style of a level.
func (l Level) Style(t *theme.Theme) theme.Style {
	switch l {
	case Good:
		return t.Good
	case Warn:
		return t.Warn
	case Bad:
		return t.Bad
	}
	return t.Dim
}

func good(word string) Mark  { return Mark{theme.GlyphGood, word, Good} }
func warn(word string) Mark  { return Mark{theme.GlyphWarn, word, Warn} }
func bad(word string) Mark   { return Mark{theme.GlyphBad, word, Bad} }
func plain(word string) Mark { return Mark{theme.GlyphOff, word, Plain} }
func doubt(word string) Mark { return Mark{theme.GlyphUnknown, word, Warn} }
