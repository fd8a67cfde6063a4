// Command testgrid checks folders that --artifacts has written:
//
//	go run ./hack/testgrid DIR...
//
// Floor 5.
package main

import (
	"fmt"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/testgrid"
)

func main() {
	status := 0
	for _, dir := range os.Args[1:] {
		for _, err := range testgrid.Check(os.DirFS(dir)) {
			fmt.Printf("%s: %v\n", dir, err)
			status = 1
		}
	}
	os.Exit(status)
}
