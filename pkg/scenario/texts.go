package scenario

import (
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// texts is one text or several.
type texts []string

// DecodeYAML reads either.
func (t *texts) DecodeYAML(r *strict.Reader, node *yaml.Node, path string) { *t = r.Texts(node, path) }
