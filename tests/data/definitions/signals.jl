"""
    Signals

Smoothing and peaks of sampled signals.
"""
module Signals

export smooth, Peak, peaks

const DEFAULT_WIDTH = 5

abstract type Window end

"A window of equal weights."
struct Flat <: Window
    width::Int
end

mutable struct Peak{T<:Real}
    at::Int
    height::T
    function Peak(at, height::T) where {T}
        at > 0 || throw(ArgumentError("a peak is at 1 or later"))
        new{T}(at, height)
    end
end

weights(w::Flat) = fill(1 / w.width, w.width)

#= Convolution at the borders
   repeats the first and the last value. =#
function smooth(x::AbstractVector, w::Window = Flat(DEFAULT_WIDTH))
    half = length(weights(w)) ÷ 2
    y = similar(x, Float64)
    for i in eachindex(x)
        y[i] = sum(weights(w)[k + half + 1] * x[clamp(i + k, 1, end)] for k in -half:half)
    end
    return y
end

"""
Return the local maxima above a height.
"""
function peaks(x; above = 0.0)
    found = Peak[]
    for i in 2:length(x)-1
        if x[i-1] < x[i] >= x[i+1] && x[i] > above
            push!(found, Peak(i, x[i]))
        end
    end
    found
end

Base.show(io::IO, p::Peak) = print(io, "peak of ", p.height, " at ", p.at)

macro sampled(rate, body)
    return quote
        local step = 1 / $(esc(rate))
        $(esc(body))
    end
end

end # module
