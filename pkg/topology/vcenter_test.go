package topology

import (
	"testing"
)

func TestNewestHardware(t *testing.T) {
	for version, want := range map[string]int{
		"6.5.0": 13, "6.5.3": 13, "6.7.0": 14, "6.7.1": 14, "6.7.2": 15, "6.7.3": 15,
		"7.0.0": 17, "7.0.1": 18, "7.0.2": 19, "7.0.3": 19,
		"8.0.0": 20, "8.0.1": 20, "8.0.2": 21, "8.0.3": 21, "9.0.0": 22, "9.0.1": 22,
		"6.0.0": 0, "7.1.0": 0, "10.0.0": 0, "8.0": 0, "8.0.3.1": 0, "8.0.03": 0, " 8.0.3": 0, "8.0.-1": 0, "8.0.100": 0, "v8.0.3": 0, "": 0,
	} {
		if got := newestHardware(version); got != want {
			t.Errorf("newestHardware(%q) = %d, want %d", version, got, want)
		}
	}
}

func TestHardwareNumber(t *testing.T) {
	for name, want := range map[string]int{
		"vmx-4": 4, "vmx-7": 7, "vmx-11": 11, "vmx-13": 13, "vmx-15": 15, "vmx-17": 17, "vmx-22": 22,
		"vmx-5": 0, "vmx-6": 0, "vmx-12": 0, "vmx-16": 0, "vmx-23": 0, "vmx--7": 0, "vmx-07": 0, "21": 0, "VMX-21": 0, "vmx-": 0, "": 0,
	} {
		if got := hardwareNumber(name); got != want {
			t.Errorf("hardwareNumber(%q) = %d, want %d", name, got, want)
		}
	}
}
