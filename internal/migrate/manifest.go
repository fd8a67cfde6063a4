package migrate

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
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
		found, err := secret.For(vc.Server)
		switch {
		case err != nil && len(j.to) == 0:
			j.why = "stays as it is; it has no credentials of " + vc.Server
		case err == nil && found.User == "":
			j.why = "stays as it is; a session that is shared is nothing that csi-vsphere.conf can name"
		case err == nil:
			c.credentials[credentialKey(vc.Secret, vc.Server)] = found
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
