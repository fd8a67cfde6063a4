package sidecars

import (
	"context"
	"runtime/debug"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/carried"
)

// Program is the name of the file.
const Program = "csi-sidecars"

// Env is the environment variable that names a file to take instead of any other.
const Env = "VSPHERE_SANDBOX_SIDECARS"

func program() carried.Program {
	return carried.Program{Name: Program, Env: Env, Folder: "sidecars", Archive: archive()}
}

// Find returns the absolute path of the program; see [carried.Program.Find].
func Find(ctx context.Context) (string, error) { return program().Find(ctx) }

// Info returns the modules of the program that [Find] would return; see [carried.Program.Info].
func Info(ctx context.Context) (info *debug.BuildInfo, from string, err error) {
	return program().Info(ctx)
}
