package coded_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

func TestError(t *testing.T) {
	plain := coded.New("image-missing", "docker pull a", nil, "image %s: not here", "a")
	if got := plain.Error(); got != "image a: not here" {
		t.Error(got)
	}
	err := fmt.Errorf("up: %w", coded.New("image-missing", "", io.EOF, "image %s", "a"))
	if got := err.Error(); got != "up: image a: EOF" || !errors.Is(err, io.EOF) {
		t.Error(got)
	}
	if !coded.Is(err, "image-missing") || coded.Is(err, "usage") || coded.Is(io.EOF, "image-missing") || coded.Is(nil, "") {
		t.Error("Is")
	}
}
