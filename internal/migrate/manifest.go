package migrate

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// object is one of the manifests.
type object struct {
	file string
	node *yaml.Node
	kind string
}

func (o object) name() string      { return text(field(field(o.node, "metadata"), "name")) }
func (o object) namespace() string { return text(field(field(o.node, "metadata"), "namespace")) }
func (o object) title() string     { return strings.TrimSpace(o.kind + " " + o.name()) }

// readManifests takes the manifests apart, and the credentials out of the Secrets that the file names.
func (c *conversion) readManifests() error {
	for _, s := range c.opts.Manifests {
		if err := c.readManifest(s); err != nil {
			return err
		}
	}
	for _, o := range c.objects {
		if o.kind == "Secret" {
			c.readSecret(o)
		}
	}
	return nil
}

func (c *conversion) readManifest(s Source) error {
	if len(s.Data) > MaxSize {
		return problem(s.Name, fmt.Sprintf("is longer than the %s a manifest may have", input.Size(MaxSize)), "")
	}
	dec := yaml.NewDecoder(bytes.NewReader(s.Data))
	before := len(c.objects)
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		switch {
		case errors.Is(err, io.EOF):
			if len(c.objects) == before {
				return problem(s.Name, "holds no manifest", "")
			}
			return nil
		case err != nil: // whose text may be that of a Secret
			return problem(s.Name, "is not YAML", "give what kubectl get -o yaml writes")
		}
		if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
			continue
		}
		budget := 100_000
		root := plain(doc.Content[0], &budget)
		if budget < 0 {
			return problem(s.Name, "has aliases that grow without end", "")
		}
		if err := c.addObject(s.Name, root); err != nil {
			return err
		}
	}
}

// addObject adds one manifest, or all those of a list.
func (c *conversion) addObject(file string, n *yaml.Node) error {
	kind := text(field(n, "kind"))
	if n.Kind != yaml.MappingNode || kind == "" {
		return &config.Error{Problems: []config.Problem{{File: file, Line: n.Line, Message: "is not a manifest: it has no kind"}}}
	}
	items := field(n, "items")
	if !strings.HasSuffix(kind, "List") || items == nil || items.Kind != yaml.SequenceNode {
		c.objects = append(c.objects, object{file, n, kind})
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		c.note(file, n.Content[i].Line, kind+" "+n.Content[i].Value, judgment{verdict: Dropped, why: "the manifests need no list around them"})
	}
	for _, item := range items.Content {
		if err := c.addObject(file, item); err != nil {
			return err
		}
	}
	return nil
}

// readSecret keeps the credentials of a Secret that the file names. Without a namespace it is the one that has its name.
func (c *conversion) readSecret(o object) {
	data := map[string][]byte{}
	for _, pair := range pairs(field(o.node, "data")) {
		if b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(pair.value.Value), "")); err == nil {
			data[pair.key.Value] = b
		}
	}
	for _, pair := range pairs(field(o.node, "stringData")) {
		data[pair.key.Value] = []byte(pair.value.Value)
	}
	secret := config.ParseSecret(o.name(), data)
	j := judgment{verdict: Kept, why: "is left alone: the file names no such Secret"}
	for _, vc := range c.old.VCenters {
		if vc.Secret.Name != o.name() || o.namespace() != "" && vc.Secret.Namespace != o.namespace() {
			continue
		}
		found, err := secret.For(vc.SecretKeys()...)
		switch {
		case err != nil && len(j.to) == 0:
			j.why = "stays as it is; it has no credentials of " + vc.Server
		case err == nil && found.User == "":
			j.why = "stays as it is; a session that is shared is nothing that csi-vsphere.conf can name"
		case err == nil:
			c.credentials[credentialKey(vc)] = found
			j.to = append(j.to, fmt.Sprintf("%s[VirtualCenter %q] user, password", toCSI, vc.Server))
			j.why = "stays as it is; the CSI driver has the credentials in its own file"
		}
	}
	c.note(o.file, o.node.Line, o.title(), j)
}

// notify reports on something in a manifest.
func (c *conversion) note(file string, line int, what string, j judgment) {
	l := Line{File: file, Line: line, Last: line, What: what}
	l.take(j)
	c.lines = append(c.lines, l)
}

// accountManifests assigns every line of the manifests to the entry that begins before it, and sorts the reports.
func (c *conversion) accountManifests() {
	var all []Line
	for _, s := range c.opts.Manifests {
		var own []Line
		for _, l := range c.lines {
			if l.File == s.Name {
				own = append(own, l)
			}
		}
		slices.SortStableFunc(own, func(a, b Line) int { return a.Line - b.Line })
		next := 0
		for i, line := range bytes.Split(s.Data, []byte("\n")) {
			for next < len(own) && own[next].Line <= i+1 {
				next++
			}
			line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\uFEFF")))
			if len(line) == 0 || line[0] == '#' || line[0] == '%' || bytes.HasPrefix(line, []byte("---")) || string(line) == "..." {
				continue
			}
			if next == 0 { // an anchor or a tag alone on a line
				own[0].Line, next = i+1, 1
			}
			own[next-1].Last = max(own[next-1].Last, i+1)
		}
		all = append(all, own...)
	}
	c.lines = all
}

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
	b.WriteString(secretManifest(*p.secret))
	keys := secretKeys(p.was.Server)
	if !keys.plain() {
		b.WriteString("  server_1: " + quoted(p.was.Server) + "\n")
	}
	b.WriteString("  " + keys.key("username") + ": " + quoted(user) + "\n")
	b.WriteString("  " + keys.key("password") + ": " + quoted(password) + "\n")
	return []byte(b.String())
}

// secretManifest is the beginning of the manifest of a Secret, before its data.
func secretManifest(ref config.SecretRef) string {
	return "apiVersion: v1\nkind: Secret\nmetadata:\n  name: " + ref.Name + "\n  namespace: " + ref.Namespace + "\ntype: Opaque\nstringData:\n"
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
		if p.first != nil {
			continue
		}
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
func (c *conversion) cloudConfig(cfg *config.Config) ([]byte, error) {
	text, err := cfg.YAML()
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
