package migrate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// FuzzConvert: any file is converted into what the provider reads, or refused with a known kind of error, which excludes those on
// Convert's own output.
func FuzzConvert(f *testing.F) {
	for _, glob := range []string{"testdata/in-tree-q*.conf", "testdata/in-tree-con*.conf", "testdata/out-of-tree-doc*.conf", "testdata/refused/*.conf"} {
		paths, err := filepath.Glob(glob)
		if err != nil || len(paths) == 0 {
			f.Fatal(glob, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(data), "", false)
		}
	}
	f.Add(smallest, classOf("parameters: {datastore: x}\n"), true)
	f.Add(smallest+"[Nodez]\nx = a\\\nb\n", "kind: Secret\n", true)
	f.Fuzz(func(t *testing.T, old, manifest string, force bool) {
		o := Options{Force: force}
		if manifest != "" {
			o.Manifests = []Source{{"m.yaml", []byte(manifest)}}
		}
		m, err := Convert(Source{"f", []byte(old)}, o)
		if err == nil {
			if _, err := config.Load("vsphere.conf", m.Files[0].Data); err != nil {
				t.Errorf("the new file cannot be read: %v", err)
			}
			return
		}
		_, refusal := errors.AsType[*Refusal](err)
		_, invalid := errors.AsType[*config.Error](err)
		if !refusal && !invalid || strings.Contains(err.Error(), "mistake of ours") {
			t.Errorf("%T: %v", err, err)
		}
	})
}
