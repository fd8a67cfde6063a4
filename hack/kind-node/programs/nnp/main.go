// Command nnp prints its effective user, as the program of Kubernetes' test image nonewprivs does. Its file has the set-user-ID bit.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Println("Effective uid:", os.Geteuid()) }
