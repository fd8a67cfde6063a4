package migrate

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// keysOf are the keys of a Secret for a server: SERVER.username as a rule, and numbered ones where a key cannot hold the
// server's name, as the colons of an IPv6 address.
type keysOf struct{ server string }

func secretKeys(server string) keysOf { return keysOf{server} }

var keyable = regexp.MustCompile(`^[A-Za-z0-9._-]{1,200}$`)

func (k keysOf) plain() bool { return keyable.MatchString(k.server) }

// key is the one that ends in part: username or password.
func (k keysOf) key(part string) string {
	if k.plain() {
		return k.server + "." + part
	}
	return part + "_1"
}

// secret is the manifest of the Secret for one vCenter.
func (c *conversion) secret(p *plan, user, password string) []byte {
	var b strings.Builder
	b.WriteString(c.head("The credentials of vCenter " + oneLine(p.was.Tenant) + " for the cloud controller manager."))
	b.WriteString("apiVersion: v1\nkind: Secret\nmetadata:\n")
	b.WriteString("  name: " + p.secret.Name + "\n  namespace: " + p.secret.Namespace + "\n")
	b.WriteString("type: Opaque\nstringData:\n")
	keys := secretKeys(p.was.Server)
	if !keys.plain() {
		b.WriteString("  server_1: " + quoted(p.was.Server) + "\n")
	}
	b.WriteString("  " + keys.key("username") + ": " + quoted(user) + "\n")
	b.WriteString("  " + keys.key("password") + ": " + quoted(password) + "\n")
	return []byte(b.String())
}

// quoted is text as a scalar of YAML that nothing but text can be read from.
func quoted(text string) string {
	b, err := yaml.Marshal(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text})
	if err != nil {
		panic("migrate: a scalar cannot be written: " + err.Error()) // it is UTF-8 text: open has looked
	}
	return strings.TrimSuffix(string(b), "\n")
}

// oneLine is a name fit for a comment.
func oneLine(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, name)
}
