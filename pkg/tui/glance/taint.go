package glance

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

// Taint is a taint of a node, read from key[=value]:effect.
type Taint struct {
	Key, Value, Effect string
}

// ParseTaint reads a taint as rows of nodes have it.
func ParseTaint(s string) Taint {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		i = len(s)
	}
	key, value, _ := strings.Cut(s[:i], "=")
	return Taint{key, value, strings.TrimPrefix(s[i:], ":")}
}

// Name is the key without its domain: shutdown, unreachable, uninitialized.
func (t Taint) Name() string { return t.Key[strings.LastIndexByte(t.Key, '/')+1:] }

// Level is how bad it is: those of the control plane and of light nodes belong there, and pods are evicted for NoExecute.
func (t Taint) Level() Level {
	switch {
	case strings.HasPrefix(t.Key, "node-role."), t.Key == feed.Mark:
		return Plain
	case t.Effect == "NoExecute":
		return Bad
	}
	return Warn
}

// Taints says the taints of a node in short, one for each key with its strongest effect, the worst first; effects are
// told of those that evict. The level is that of the worst.
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

// rank puts first what vSphere is the reason of.
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

// OutOfService tells whether a node with these taints was said to be out of service.
func OutOfService(taints []string) bool {
	return slices.ContainsFunc(taints, func(s string) bool { return ParseTaint(s).Key == "node.kubernetes.io/out-of-service" })
}
