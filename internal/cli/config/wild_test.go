package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	real "github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

// validate, render, migrate, record and up, and the cloud controller manager say the same of a file that a generator wrote: it
// can be used, or it cannot. migrate names what a conversion would lose, and record and up need a login that is in no Secret.
// (findings A1, A2: the commands contradicted each other)
func TestWildFilesAlike(t *testing.T) {
	paths, err := filepath.Glob("../../../pkg/provider/config/testdata/wild/*.[iy]*")
	if err != nil || len(paths) < 40 {
		t.Fatalf("a corpus of %d files, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, bad := provider.Load(path, data) // as the cloud controller manager reads it
			for _, command := range []string{"validate", "render"} {
				e := clitest.NewEnv(nil)
				if r := e.Run(t.Context(), NewCmdConfig(e.Deps), command, path); (r.Exit == 0) != (bad == nil) {
					t.Errorf("%s ends with %+v, and the provider says %v", command, r, bad)
				}
			}
			if _, err := real.Load(path, data); (err == nil) != (bad == nil) && (bad != nil || !strings.Contains(err.Error(), "which only a cluster can read")) {
				t.Errorf("record and up: %v, and the provider says %v", err, bad)
			}
			m, err := migrate.Convert(migrate.Source{Name: path, Data: data}, migrate.Options{})
			refusal, refused := errors.AsType[*migrate.Refusal](err)
			switch {
			case filepath.Ext(path) == ".yaml" && !refused:
				t.Errorf("migrate: %v", err)
			case filepath.Ext(path) == ".yaml" && (len(refusal.Problems) == 0) != (bad == nil):
				t.Errorf("migrate: %v, and the provider says %v", err, bad)
			case filepath.Ext(path) == ".yaml":
			case err != nil && strings.Contains(err.Error(), "of NSX-T are not carried over"):
			case (err == nil) != (bad == nil):
				t.Errorf("migrate: %v, and the provider says %v", err, bad)
			case err == nil:
				// What the provider suspects of a value is left to check there, too.
				_, problems := provider.Check(path, data)
				for _, p := range problems {
					if p.Suspect && !strings.Contains(m.Report.Text(), p.Message) {
						t.Errorf("migrate is silent about: %s", p)
					}
				}
			}
		})
	}
}
