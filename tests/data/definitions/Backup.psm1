<#
.SYNOPSIS
Copies of folders, with how long they are kept.
#>
using namespace System.IO

enum Age {
    Daily
    Weekly
}

class BackupPlan {
    [string] $Source
    [Age] $Age

    BackupPlan([string] $source, [Age] $age) {
        $this.Source = $source
        $this.Age = $age
    }

    [int] DaysKept() {
        if ($this.Age -eq [Age]::Daily) { return 14 }
        return 90
    }
}

# Copies a folder into a new one that is named by the date.
function Copy-BackupFolder {
    [CmdletBinding(SupportsShouldProcess)]
    param(
        [Parameter(Mandatory)] [BackupPlan] $Plan,
        [string] $Destination = "$HOME\Backups"
    )
    begin {
        $stamp = Get-Date -Format 'yyyy-MM-dd'
    }
    process {
        $target = Join-Path $Destination $stamp
        if ($PSCmdlet.ShouldProcess($target)) {
            Copy-Item -Recurse $Plan.Source $target
        }
    }
}

function Remove-OldBackup([BackupPlan] $Plan, [string] $Destination) {
    $limit = (Get-Date).AddDays(-$Plan.DaysKept())
    Get-ChildItem $Destination | Where-Object { $_.CreationTime -lt $limit } | Remove-Item -Recurse
}

filter Select-Stale {
    if ($_.LastWriteTime -lt (Get-Date).AddYears(-1)) { $_ }
}

function global:Write-BackupReport {
    $text = @"
Backups {
  function of no name
"@
    Write-Output $text
}

Export-ModuleMember -Function Copy-BackupFolder, Remove-OldBackup
