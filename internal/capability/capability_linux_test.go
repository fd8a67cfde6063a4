package capability_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/capability"
)

func TestWithheld(t *testing.T) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	m := regexp.MustCompile(`(?m)^CapBnd:\s*([0-9a-f]+)$`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no CapBnd in\n%s", text)
	}
	set, err := strconv.ParseUint(string(m[1]), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	const bit = 24 // CAP_SYS_RESOURCE in linux/capability.h
	if got, want := capability.Withheld(capability.SysResource), set>>bit&1 == 0; got != want {
		t.Errorf("withheld: %t, want %t by the bounding set %s", got, want, fmt.Sprintf("%x", set))
	}
	if capability.Withheld("CAP_NONE") {
		t.Error("a capability that does not exist is withheld")
	}
}
