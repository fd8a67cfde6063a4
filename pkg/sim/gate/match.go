package gate

import (
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
)

// matches tells whether a rule is about a call. What is cheap comes first.
func (e *entry) matches(c *call) bool {
	if t := transport(e.rule.Action); t != "" && t != c.Transport {
		return false
	}
	switch e.rule.Action.(type) {
	case FailTask:
		if !strings.HasSuffix(c.Method, "_Task") && !e.tasks[c.Method] {
			return false
		}
	case DropSession:
		if c.Session == "" {
			return false
		}
	}
	m := &e.rule.Match
	return (m.Transport == "" || m.Transport == c.Transport) &&
		(m.Session == "" || m.Session == c.Session) &&
		m.Caller(c.Client, c.User) &&
		(len(m.Methods) == 0 || isMethod(m.Methods, c.Method)) &&
		(m.Object == Object{} || m.Object.among(c))
}

// Caller tells whether User and Client match somebody.
func (m *Match) Caller(client, user string) bool {
	return (m.User == "" || glob.Fold(m.User, user)) &&
		(m.Client == "" || isClient(m.Client, client))
}

func isClient(pattern, client string) bool {
	pattern, client = strings.ToLower(pattern), strings.ToLower(client)
	if glob.IsPattern(pattern) {
		return glob.Match(pattern, client)
	}
	return strings.Contains(client, pattern)
}

func isMethod(patterns []string, method string) bool {
	for _, p := range patterns {
		if glob.Match(p, method) {
			return true
		}
		if strings.HasPrefix(p, "/") {
			if _, path, ok := strings.Cut(method, " "); ok && glob.Match(p, path) {
				return true
			}
		}
	}
	return false
}

// among tells whether the call is about such an object.
func (o Object) among(c *call) bool {
	for _, ref := range c.about() {
		if o.Type != "" && o.Type != ref.Type || o.Ref != "" && o.Ref != ref.Value {
			continue
		}
		if o.Name == "" || glob.Match(o.Name, c.gate.opts.Name(ref)) {
			return true
		}
	}
	return false
}

// about returns the objects that the call names.
func (c *call) about() []types.ManagedObjectReference {
	if !c.read {
		c.read = true
		switch c.Transport {
		case SOAP:
			c.refs = mentioned(c.body)
		default:
			c.refs = mentionedJSON(c.body)
		}
	}
	return c.refs
}
