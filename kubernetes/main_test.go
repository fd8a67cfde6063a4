package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

func TestHandshake(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), strings.Fields(contract.VersionCommand), &out); err != nil {
		t.Fatal(err)
	}
	var got contract.Info
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Contract != contract.Version || got.Platform == "" {
		t.Errorf("%s, %v", out.Bytes(), err)
	}
}

func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(`{"contract":99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{contract.ControlPlaneCommand, contract.NodeCommand} {
		err := run(t.Context(), []string{command, "--config=" + path}, nil)
		if other, ok := errors.AsType[*contract.OtherVersionError](err); !ok || other.Contract != 99 {
			t.Errorf("%s: %v", command, err)
		}
		if err := run(t.Context(), []string{command, "--config=" + path + ".none"}, nil); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s without a file: %v", command, err)
		}
	}
	for _, args := range [][]string{nil, {"version"}, {"kubectl"}} {
		if err := run(t.Context(), args, nil); err == nil || !strings.Contains(err.Error(), "unknown command") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
