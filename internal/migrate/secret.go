package migrate

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// keysOf returns the keys of a Secret for a server: SERVER.username, or numbered keys if a key cannot hold the server's name,
// such as the colons of an IPv6 address.
type keysOf struct{ server string }

func secretKeys(server string) keysOf { return keysOf{server} }

var keyable = regexp.MustCompile(`^[A-Za-z0-9._-]{1,200}$`)

func (k keysOf) plain() bool { return keyable.MatchString(k.server) }

// key returns the key that ends in part: username or password.
func (k keysOf) key(part string) string {
	if k.plain() {
		return k.server + "." + part
	}
	return part + "_1"
}

// secret returns the manifest of the Secret for one vCenter.
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

// quoted returns text as a YAML scalar that can only be read as a string.
func quoted(text string) string {
	b, err := yaml.Marshal(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text})
	if err != nil {
		panic("migrate: a scalar cannot be written: " + err.Error()) // open has checked that it is UTF-8
	}
	return strings.TrimSuffix(string(b), "\n")
}

// oneLine returns a name that fits in a comment.
func oneLine(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, name)
}

// pair is an entry of a mapping.
type pair struct{ key, value *yaml.Node }

// pairs returns the entries of a mapping in their order, or nil if n is no mapping.
func pairs(n *yaml.Node) []pair {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var all []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		all = append(all, pair{n.Content[i], n.Content[i+1]})
	}
	return all
}

// field returns a value of a mapping, or nil.
func field(n *yaml.Node, key string) *yaml.Node {
	for _, p := range pairs(n) {
		if p.key.Value == key {
			return p.value
		}
	}
	return nil
}

// text returns the value of a scalar, or "".
func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}

// put adds an entry to a mapping.
func put(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, scalar(key), value)
}

func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

// plain returns a copy with every alias resolved. It gives up when the budget of nodes is used up; the budget is negative then.
func plain(n *yaml.Node, budget *int) *yaml.Node {
	if *budget--; *budget < 0 {
		return n
	}
	if n.Kind == yaml.AliasNode {
		return plain(n.Alias, budget)
	}
	c := *n
	c.Anchor, c.Content = "", nil
	for _, item := range n.Content {
		if c.Content = append(c.Content, plain(item, budget)); *budget < 0 {
			break
		}
	}
	return &c
}

// repeated counts duplicate keys.
func repeated(n *yaml.Node) (count int) {
	seen := map[string]bool{}
	for _, p := range pairs(n) {
		if seen[p.key.Value] {
			count++
		}
		seen[p.key.Value] = true
	}
	for _, item := range n.Content {
		count += repeated(item)
	}
	return count
}

// filling returns the credentials of a vCenter in csi-vsphere.conf.
type filling func(*plan) (user, password string)

func given(p *plan) (user, password string) { return p.csi.User, p.csi.Password }
func withheld(p *plan) (user, password string) {
	if p.csi.User == "" {
		return "", ""
	}
	return Withheld, Withheld
}

// csiConfig returns csi-vsphere.conf.
func (c *conversion) csiConfig(fill filling) string {
	var b strings.Builder
	b.WriteString(c.head("The configuration of the CSI driver."))
	if id := c.clusterID(); id != "" {
		b.WriteString("[Global]\n" + entry("cluster-id", id))
	}
	for _, p := range c.plans {
		b.WriteString("\n[VirtualCenter " + quotedINI(p.was.Server) + "]\n")
		if user, password := fill(p); user != "" {
			b.WriteString(entry("user", user) + entry("password", password))
		} else {
			b.WriteString("# user and password are needed here: those of " + credentialsIn(p.was) + "\n")
		}
		b.WriteString(entry("port", strconv.Itoa(p.was.Port)))
		b.WriteString(entry("insecure-flag", strconv.FormatBool(p.was.InsecureFlag)))
		b.WriteString(entry("ca-file", p.was.CAFile) + entry("thumbprint", p.was.Thumbprint))
		b.WriteString(entry("datacenters", strings.Join(p.was.Datacenters, ", ")))
	}
	if c.zones() {
		b.WriteString("\n[Labels]\n" + entry("topology-categories", c.cfg.Labels.Region+", "+c.cfg.Labels.Zone))
	}
	return b.String()
}

// clusterID returns the requested ID, or that of the file.
func (c *conversion) clusterID() string {
	if c.opts.ClusterID != "" {
		return c.opts.ClusterID
	}
	return c.value("Global", "cluster-id")
}

// credentialsIn describes where a vCenter's credentials are.
func credentialsIn(vc config.VCenter) string {
	if vc.SecretsDirectory != "" {
		return "the directory " + oneLine(vc.SecretsDirectory)
	}
	return "the Secret " + oneLine(vc.Secret.Namespace+"/"+vc.Secret.Name)
}

// entry returns a line of an INI file, or "" for an empty value.
func entry(key, value string) string {
	if value == "" {
		return ""
	}
	return key + " = " + quotedINI(value) + "\n"
}

func quotedINI(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}

// csiSecret returns the manifest of the Secret with csi-vsphere.conf.
func (c *conversion) csiSecret(conf string) []byte {
	var b strings.Builder
	b.WriteString(c.head("What the CSI driver mounts as /etc/cloud."))
	b.WriteString("apiVersion: v1\nkind: Secret\nmetadata:\n")
	b.WriteString("  name: " + csiSecret + "\n  namespace: " + csiNamespace + "\n")
	b.WriteString("type: Opaque\nstringData:\n  csi-vsphere.conf: |\n")
	b.WriteString(indented(conf, "    "))
	return []byte(b.String())
}

// cloudConfig returns vsphere.conf.
func (c *conversion) cloudConfig() ([]byte, error) {
	text, err := c.cfg.YAML()
	if err != nil {
		return nil, err
	}
	return append([]byte(c.head("The configuration of the cloud controller manager.")), text...), nil
}

// configMap returns the manifest of the ConfigMap with vsphere.conf.
func (c *conversion) configMap(conf []byte) []byte {
	var b strings.Builder
	b.WriteString(c.head("What the cloud controller manager mounts as /etc/cloud."))
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata:\n")
	b.WriteString("  name: " + cloudConfigMap + "\n  namespace: " + cloudNamespace + "\n")
	b.WriteString("data:\n  vsphere.conf: |\n")
	b.WriteString(indented(string(conf), "    "))
	return []byte(b.String())
}

// indented returns text for a YAML block.
func indented(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimRight(line, "\n") != "" {
			b.WriteString(by)
		}
		b.WriteString(line)
	}
	return b.String()
}
