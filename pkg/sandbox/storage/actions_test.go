package storage

import (
	"errors"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// A volume goes by its claim, with or without its namespace, by its PersistentVolume and by its id.
func TestFind(t *testing.T) {
	rows := []api.Volume{
		{Name: "pvc-1", Claim: "default/data", Handle: "fcd-1"},
		{Name: "pvc-2", Claim: "other/data", Handle: "fcd-2"},
		{Name: "default/logs", Claim: "default/logs"},
		{Name: "fcd-9", Handle: "fcd-9"},
	}
	for name, want := range map[string]string{
		"default/data": "pvc-1", "other/data": "pvc-2", "pvc-2": "pvc-2", "fcd-1": "pvc-1", "logs": "default/logs", "fcd-9": "fcd-9",
	} {
		if got, err := Find(rows, name); err != nil || got.Name != want {
			t.Errorf("%s: %s, %v, want %s", name, got.Name, err, want)
		}
	}
	for name, want := range map[string]string{"data": "default/data, other/data", "lgos": `did you mean "logs"`, "nothing-like-it": "not found"} {
		var reported *api.Error
		if got, err := Find(rows, name); !errors.As(err, &reported) || !strings.Contains(reported.Message, want) {
			t.Errorf("%s: %s, %v, want %s", name, got.Name, err, want)
		}
	}
}
