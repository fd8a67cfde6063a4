package secrets

import (
	"os"
	"strings"
	"testing"
)

// TestUpstream: the dump of what an unmodified release called in a boot has that in order, and no secret.
func TestUpstream(t *testing.T) {
	cpi := os.Getenv("UPSTREAM_CPI")
	if cpi == "" {
		t.Skip("no release of the upstream cloud provider: UPSTREAM_CPI names its binary (make upstream builds and sets it)")
	}
	r := boot(t, "--ccm", cpi, "--csi", "off")
	r.inPlace("a boot with upstream's release")
	dump := r.Run("calls", "dump", "--client", "ccm")
	rest := dump
	for _, want := range []string{
		"→ Login", "password: (masked)", "← 200", // it logs in
		"→ FindByUuid", "uuid: ", "← 200", "VirtualMachine:vm-", // finds the VM of the node
		"→ RetrieveProperties", "pathSet: guest", "obj: VirtualMachine:vm-", "← 200", "GuestInfo", // and reads its addresses
	} {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("no %q, or not in its place, in:\n%s", want, dump)
		}
		rest = after
	}
	if n := strings.Count(dump, "Envelope"); n > 0 {
		t.Errorf("%d envelopes are for machines, not for readers:\n%s", n, dump)
	}
}
