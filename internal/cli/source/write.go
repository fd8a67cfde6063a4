package source

import (
	"bytes"
	"io"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Write writes a resolved topology out as YAML or JSON, which build the same again.
func Write(w io.Writer, format string, t *topology.Topology) error {
	if format == output.YAML {
		b, err := topology.Marshal(t)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	}
	var b bytes.Buffer
	if err := output.Encode(&b, format, t); err != nil { // it has its kind and version in it
		return err
	}
	// What looks like a parameter is none any more. In JSON, it can only be in a text.
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte("${"), []byte("$${")))
	return err
}
