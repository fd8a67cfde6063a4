//go:build !race

package truth_test

import "testing"

func skipUnderRace(*testing.T) {}
