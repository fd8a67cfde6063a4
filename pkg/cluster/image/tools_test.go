package image

import (
	"encoding/json"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A program that runs others has them in its image, with what they need, and finds them.
func TestTools(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system has no tools for Linux at hand")
	}
	tools, err := exec.CommandContext(t.Context(), "sh", "-c", ToolsScript("tar", "sh", "no-such-tool")).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := programOf(t, "driver", "amd64")
	s, err := FromPrograms(t.Context(),
		Foreign{File: file, At: "/bin/driver", Names: []string{"registry.k8s.io/a/driver:v1"}, Tools: tools},
		Foreign{File: file, At: "/bin/other", Names: []string{"registry.k8s.io/a/other:v1"}})
	if err != nil {
		t.Fatal(err)
	}
	all := entries(t, written(t, s))
	var list []docker
	if err := json.Unmarshal(all["manifest.json"], &list); err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	var config struct{ Config struct{ Env []string } }
	if err := json.Unmarshal(all[list[0].Config], &config); err != nil || !slices.Equal(config.Config.Env, []string{"PATH=" + toolsPath}) {
		t.Errorf("%+v, %v", config, err)
	}
	var names []string
	for name := range entries(t, all[list[0].Layers[1]]) {
		names = append(names, name)
	}
	has := func(part string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, part) })
	}
	if !has("bin/tar") || !has("bin/sh") || len(names) < 4 || has("no-such-tool") {
		t.Errorf("tools are %q", names)
	}
	if len(list[1].Layers) != 2 {
		t.Errorf("the other has %d layers", len(list[1].Layers))
	}
	if _, err := FromPrograms(t.Context(), Foreign{File: file, At: "/bin/driver", Names: []string{"registry.k8s.io/a/driver:v1"}, Tools: []byte{}}); err == nil ||
		!strings.Contains(err.Error(), "has no files") {
		t.Errorf("without any: %v", err)
	}
}
