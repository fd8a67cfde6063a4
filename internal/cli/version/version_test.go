package version

import (
	"runtime"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

func TestVersion(t *testing.T) {
	for _, format := range []string{"text", "json", "yaml"} {
		t.Run(format, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			var args []string
			if format != "text" {
				args = []string{"-o", format}
			}
			fixed := func(o *options) error {
				o.info = func() info {
					return info{"v0.1.0", "0123456789abcdef", "v1.36.4", "v0.56.0", "v3.6.8", "go1.26.8", "linux/amd64"}
				}
				return run(o)
			}
			if r := e.Run(t.Context(), NewCmdVersion(e.Deps, fixed), args...); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			clitest.Golden(t, "version."+format, e.Out.String())
		})
	}
}

func TestThisBinary(t *testing.T) {
	e := clitest.NewEnv(nil)
	if r := e.Run(t.Context(), NewCmdVersion(e.Deps, nil)); r.Exit != 0 || !strings.Contains(e.Out.String(), runtime.Version()) {
		t.Errorf("ended with %+v and %q", r, e.Out)
	}
	if r := e.Run(t.Context(), NewCmdVersion(e.Deps, nil), "-o", "table"); r.Exit != report.Usage {
		t.Errorf("ended with %+v", r)
	}
}
