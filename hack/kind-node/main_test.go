package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(path); err == nil || !strings.Contains(err.Error(), "another build") {
		t.Errorf("a second lock: error %v", err)
	}
	unlock()
	unlock, err = lock(path)
	if err != nil {
		t.Fatalf("after the first: %v", err)
	}
	unlock()
}
