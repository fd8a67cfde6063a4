package clusterwatch

import "testing"

// An Event about a connection names its section, which need not be called as a vCenter.
func TestSectionOf(t *testing.T) {
	for message, want := range map[string]string{
		"vCenter be (192.0.2.4): connected":                  "be",
		"vCenter Main DC (192.0.2.4): login refused (again)": "Main DC",
		"vCenter be is mentioned (somewhere)":                "",
		"in force: vcenter.be":                               "",
	} {
		if got, ok := sectionOf(message); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v", message, got, ok)
		}
	}
}
