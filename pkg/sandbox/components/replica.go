package components

import "strconv"

// Replica returns the name of the replica of a component with an index from 0: ccm, ccm-2, ccm-3.
func Replica(component string, n int) string {
	if n == 0 {
		return component
	}
	return component + "-" + strconv.Itoa(n+1)
}
